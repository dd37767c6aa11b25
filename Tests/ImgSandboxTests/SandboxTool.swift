import ImgSystem
import Testing

@testable import ImgSandbox

/// The program `imgsandboxtest`, which locks itself as the programs of this package do.
enum SandboxTool {
  private static let patience = Duration.seconds(300)

  static var path: String {
    get throws { "\(try #require(ThisProcess.executableDirectory))/imgsandboxtest" }
  }

  /// The fields of the lines that it prints, which a tab divides.
  static func run(_ arguments: [String]) throws -> [String: String] {
    // Not a file: a locked decoder may write none.
    var sockets = try UnixSocket.pair()
    let output = sockets.takeFirst()
    let child = try spawn(path, arguments, output: sockets.takeSecond())
    var bytes: [UInt8] = []
    while try FileIO.read(output.rawValue, into: &bytes, upTo: 1 << 16) > 0 {}
    let status = child.waitForExit(until: .now + patience)
    #expect(status == .exited(0))
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .map { $0.split(separator: "\t", maxSplits: 1).map(String.init) }
    return Dictionary(
      fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
  }

  /// Closes this process's copy of `output`, so that the end of the child is its end.
  private static func spawn(
    _ program: String, _ arguments: [String], output: consuming OwnedDescriptor
  ) throws -> ChildProcess {
    try ChildProcess.spawn(
      executable: program, arguments: arguments, environment: [:],
      descriptors: [(parent: output.rawValue, child: 1)])
  }
}

/// What came of the attempts in each sandbox, each tried once for all tests.
enum AttemptResults {
  static let unlocked = attempts("none")
  static let decoder = attempts("decoder")
  static let worker = attempts("worker")
  static let gateway = attempts("gateway")
  static let coordinator = attempts("coordinator")
  /// Where the kernel has no Landlock.
  static let decoderOfFilter = attempts("decoder", on: ["without", "landlock"])
  static let workerOfFilter = attempts("worker", on: ["without", "landlock"])

  /// - Parameter kernel: arguments that take features from the kernel.
  private static func attempts(
    _ lock: String, on kernel: [String] = []
  ) -> Result<[String: String], any Error> {
    Result {
      let program = try kernel.isEmpty ? [] : [SandboxTool.path]
      return try SandboxTool.run(kernel + program + ["attempts", lock])
    }
  }
}

/// What the kernel of this machine can do.
enum Kernel {
  static let hasLandlock = LandlockRuleset.version != nil
  static let hasFilters = SystemCallFilter.isSupported
  static let hasBoth = hasLandlock && hasFilters
  /// Whether Landlock limits TCP and abstract sockets and signals, too.
  static let hasScopes = (LandlockRuleset.version ?? 0) >= 6
}
