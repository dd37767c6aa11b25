import ImgFetch
import ImgModel
import ImgSystem

/// Gets every body of a list as a worker does, and nothing more: no scheduling, no decoding, no
/// store.
struct FetchProcess {
  static let name = "fetch-process"

  /// A file of URLs, one a line.
  let listPath: String
  /// Transfers at a time.
  let connectionCount: Int

  init(listPath: String, connectionCount: Int) {
    self.listPath = listPath
    self.connectionCount = connectionCount
  }

  init(arguments: [String]) throws(BenchError) {
    guard arguments.count == 3, let count = Int(arguments[2]), count > 0 else {
      throw BenchError(BenchInvocation.usage)
    }
    self.init(listPath: arguments[1], connectionCount: count)
  }

  var arguments: [String] { [Self.name, listPath, "\(connectionCount)"] }

  func run() throws {
    // As a worker does.
    ThisProcess.keepFreedMemory()
    let text = try FileIO.contents(of: listPath, upTo: 1 << 30)
    let urls = try String(decoding: text, as: UTF8.self).split(separator: "\n")
      .map { try ImageURL(parsing: String($0)) }
    let poller = try Poller()
    let loopback = NetworkRange(bytes: [127, 0, 0, 0], prefixLength: 8)
    let pool = try TransferPool(
      runtime: CurlRuntime.start(), limits: Limits(), bodyBudgetByteCount: 1 << 29,
      addressPolicy: AddressPolicy(allowed: [loopback].compactMap(\.self)),
      spoolDirectories: ["/tmp"], poller: poller, tokenBase: 1 << 32, userAgent: "imgbench",
      earlyReject: nil)
    var (started, ended) = (0, 0)
    while ended < urls.count {
      while started < urls.count, started - ended < connectionCount {
        pool.start(UInt64(started), url: urls[started])
        started += 1
      }
      let wait = pool.deadline.map { max($0 - .now, .zero) } ?? .seconds(1)
      for readiness in try poller.wait(timeout: wait) { pool.handle(readiness) }
      pool.handleDeadline(at: .now)
      for transfer in pool.takeFinished() {
        pool.releaseBody(try transfer.result.get().charge)
        ended += 1
      }
    }
  }
}
