import FoundationEssentials

/// The checkout these tests were compiled from. Paths are relative to its root.
enum Repository {
  static let root: String = {
    // This file is ROOT/Tests/SoundnessTests/Repository.swift.
    let components = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    return components.dropLast(3).joined(separator: "/")
  }()

  static func text(_ path: String) throws -> String {
    try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
  }

  /// Every file below a directory whose name ends so, sorted.
  static func files(below directory: String, suffix: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(directory)")
      .filter { $0.hasSuffix(suffix) }
      .map { "\(directory)/\($0)" }
      .sorted()
  }

  /// The code of tutorials is part of their catalog, not of the module beside it.
  static func swiftSources(below directory: String) throws -> [SwiftSource] {
    try files(below: directory, suffix: ".swift").filter { !$0.contains(".docc/") }.map { path in
      SwiftSource(path: path, text: try text(path))
    }
  }

  static func isExecutable(_ path: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "\(root)/\(path)")
  }
}
