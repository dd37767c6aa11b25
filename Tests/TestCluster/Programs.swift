import ImgSystem

/// Where the built programs lie: beside the program that runs the tests.
package enum Programs {
  package static func path(of program: String) throws -> String {
    guard let directory = ThisProcess.executableDirectory else {
      throw ClusterError("there is no /proc to find the programs by")
    }
    return "\(directory)/\(program)"
  }

  /// Makes an executable copy of a file.
  ///
  /// Another process writes it. What this one has open for writing is open in its children, too, from
  /// their fork to their exec, and cannot be executed as long (ETXTBSY, execve(2)).
  package static func install(_ source: String, as path: String) throws {
    let child = try ChildProcess.spawn(
      executable: "/usr/bin/install", arguments: ["-m", "700", source, path], environment: [:],
      descriptors: [])
    guard child.waitForExit(until: .now + ProgramRun.patience) == .exited(0) else {
      throw ClusterError("\(source) cannot be installed as \(path)")
    }
  }
}

/// Why a test cannot have its cluster, in a sentence.
package struct ClusterError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
