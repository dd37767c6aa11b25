import FoundationEssentials
import ImgSystem

/// An origin of its own for the transfers, which serves bodies that are no pictures.
///
/// It ends with this object, or with this process, whose end closes its standard input.
final class TransferOrigin {
  private let child: ChildProcess
  private let standardInput: OwnedDescriptor
  let baseURL: String

  /// - Parameters:
  ///   - programDirectory: where `testorigin` lies.
  ///   - byteCounts: of the bodies, by their names.
  init(programDirectory: String, workDirectory: String, byteCounts: [String: Int]) throws {
    let directory = "\(workDirectory)/bodies"
    let listPath = "\(workDirectory)/bodies.urls"
    try Directory.create(directory)
    for (name, count) in byteCounts {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      try FileIO.replace(path: "\(directory)/\(name)", with: bytes)
    }
    var pair = try UnixSocket.pair()
    standardInput = pair.takeFirst()
    let theirs = pair.takeSecond()
    let nothing = try FileIO.open(appendingTo: "/dev/null")
    child = try ChildProcess.spawn(
      executable: "\(programDirectory)/testorigin",
      arguments: ["--directory", directory, "--print-urls", listPath, "--until-stdin-closes"],
      environment: ThisProcess.environment,
      descriptors: [(parent: theirs.rawValue, child: 0), (parent: nothing.rawValue, child: 1)])
    baseURL = try Self.baseURL(inList: listPath)
  }

  deinit {
    child.signal(15)
    _ = child.waitForExit(until: .now + .seconds(10))
  }

  /// The origin listens before it writes its list.
  private static func baseURL(inList path: String) throws -> String {
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      if let list = try? FileIO.contents(of: path, upTo: 1 << 16),
        let line = String(decoding: list, as: UTF8.self).split(separator: "\n").first,
        let slash = line.lastIndex(of: "/")
      {
        return String(line[..<slash])
      }
      ThisProcess.pause(for: .milliseconds(10))
    }
    throw BenchError("the origin of the transfers does not start")
  }
}
