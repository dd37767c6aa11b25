import Glibc
@_spi(Coding) package import ImgModel
package import ImgSettings
package import ImgSystem
import ImgWire

/// A list of URLs at a server. A worker program fetches it, in a process of its own, under the same rules as
/// pictures: the limits, the permitted networks and the proxies of a cluster.
///
/// The process ends with this object, also if the list was not read to its end.
package final class FetchedList {
  private let process: ChildProcess
  private let body: OwnedDescriptor
  /// The bytes of the list that were not read yet.
  private var missingByteCount = 0
  /// How long the next request to the same host waits, so that the limit of its rate is kept.
  package let pause: Duration

  /// Waits for the list.
  ///
  /// - Parameter settings: those of the cluster, with the path of its worker program.
  /// - Throws: a ``Failure`` if the server does not send the list, a ``SystemError`` if no process can be
  ///   started, and a ``ListProcessError`` if that ends without an answer.
  package init(at url: ImageURL, under settings: Settings) throws {
    var input = try UnixSocket.pair()
    var output = try UnixSocket.pair()
    var reply = try UnixSocket.pair()
    let request = input.takeFirst()
    let answer = reply.takeFirst()
    let rate = settings.limits.hostRatePerMinute
    pause = rate == 0 ? .zero : .seconds(60) / rate
    let executable = settings.workerExecutable ?? ""
    let process = try Self.start(
      executable, input: input.takeSecond(), output: output.takeSecond(),
      answer: reply.takeSecond())
    self.process = process
    body = output.takeFirst()
    // A process that has ended already answers nothing, which says more.
    try? FileIO.writeAll(
      request.rawValue, Fields.json(of: ListRequest(url: url.text, welcome: Self.welcome(settings)))
    )
    _ = consume request
    let json = try FileIO.contents(
      of: answer.rawValue, named: "the answer of the worker program",
      upTo: ListAnswer.maximumByteCount)
    guard !json.isEmpty else {
      throw ListProcessError(
        executable: executable, status: self.process.waitForExit(until: .now + .seconds(1)))
    }
    switch try Fields.value(ListAnswer.self, of: json[...]) {
    case .found(let byteCount): missingByteCount = byteCount
    case .failed(let failure): throw failure
    }
  }

  deinit {
    process.signal(SIGKILL)
    _ = process.waitForExit(until: nil)
  }

  private static func welcome(_ settings: Settings) -> Welcome {
    Welcome(
      hello: Hello(processID: ThisProcess.processID), limits: settings.limits, storeDirectory: "",
      allowedNetworks: settings.allowedNetworks, authorityFile: settings.authorityFile,
      proxies: settings.proxies, requiresSandbox: settings.requiresSandbox)
  }

  private static func start(
    _ executable: String, input: consuming OwnedDescriptor, output: consuming OwnedDescriptor,
    answer: consuming OwnedDescriptor
  ) throws(SystemError) -> ChildProcess {
    try ChildProcess.spawn(
      executable: executable, arguments: [ListRequest.argument], environment: nil,
      descriptors: [
        (parent: input.rawValue, child: STDIN_FILENO),
        (parent: output.rawValue, child: STDOUT_FILENO),
        (parent: answer.rawValue, child: ListAnswer.descriptor),
      ])
  }

  /// Waits for bytes of the list and appends them to `buffer`.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  /// - Throws: EIO if the process ended in the middle of the list.
  package func read(
    into buffer: inout [UInt8], upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    let byteCount = try FileIO.read(body.rawValue, into: &buffer, upTo: maximumByteCount)
    missingByteCount -= byteCount
    guard byteCount > 0 || missingByteCount == 0 else {
      throw SystemError(operation: "read the list from the worker program", code: EIO)
    }
    return byteCount
  }
}

/// The process of a list ended without an answer. It has written the reason to standard error.
package struct ListProcessError: Error, CustomStringConvertible {
  let executable: String
  /// `nil` if it has not ended.
  let status: ExitStatus?

  package var description: String {
    let end = status.map { " (\($0))" } ?? ""
    return
      "the list was not fetched: the worker program \(executable) ended without an answer\(end)"
  }
}
