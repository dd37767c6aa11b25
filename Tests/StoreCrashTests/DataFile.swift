import FoundationEssentials
import ImgSystem

/// The data file of a store, as bytes.
enum DataFile {
  struct NotFound: Error {}

  private static let mostByteCount = 64 << 20

  static func path(in directory: String) -> String { "\(directory)/data.mdb" }

  static func bytes(in directory: String) throws -> [UInt8] {
    try FileIO.contents(of: path(in: directory), upTo: mostByteCount)
  }

  /// Makes a directory with nothing but this file.
  static func write(_ bytes: [UInt8], to directory: String) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    try Data(bytes).write(to: URL(filePath: path(in: directory)))
  }

  static func position(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
    Data(bytes).firstRange(of: Data(pattern))?.lowerBound
  }
}
