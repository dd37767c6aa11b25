import ImgSystem

/// Where the built programs lie: beside the program that runs the tests.
package enum Programs {
  package static func path(of program: String) throws -> String {
    guard let directory = ThisProcess.executableDirectory else {
      throw ClusterError("there is no /proc to find the programs by")
    }
    return "\(directory)/\(program)"
  }
}

/// Why a test cannot have its cluster, in a sentence.
package struct ClusterError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
