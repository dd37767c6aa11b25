import ImgSystem
import TestCluster
import TestFiles

/// A program of others that writes or reads pictures, to compare with.
enum ReferenceProgram: String {
  case ffmpeg, exiftool

  /// - Returns: what it says on standard output.
  @discardableResult
  func run(_ arguments: [String], in directory: TestDirectory) throws -> [UInt8] {
    let environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
    let result = try ProgramRun(
      "/usr/bin/\(rawValue)", arguments, environment: environment, in: directory
    ).wait()
    guard result.exitCode == 0 else {
      throw ReferenceError("\(rawValue) \(arguments): \(result.messages)")
    }
    return result.outputBytes
  }
}

struct ReferenceError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
