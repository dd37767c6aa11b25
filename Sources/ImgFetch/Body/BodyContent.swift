package import ImgSystem

/// The bytes of a body: in memory or, where they are many, in a file without a name.
package enum BodyContent: Sendable {
  case memory([UInt8])
  case file(SpoolFile, byteCount: Int)

  package var byteCount: Int {
    switch self {
    case .memory(let bytes): bytes.count
    case .file(_, let byteCount): byteCount
    }
  }

  var charge: BodyCharge {
    switch self {
    case .memory(let bytes): BodyCharge(byteCount: bytes.count)
    case .file(_, let byteCount): BodyCharge(byteCount: byteCount, isOfFile: true)
    }
  }

  /// All of them, in memory; those of a file are read.
  package func bytes() throws(SystemError) -> [UInt8] {
    switch self {
    case .memory(let bytes): bytes
    case .file(let file, let byteCount): try file.contents(byteCount: byteCount)
    }
  }
}
