import ImgSniff

/// A chunk of a PNG file (PNG Specification, third edition, section 5.3).
package struct PNGChunk: Sendable {
  package var name: String
  package var data: [UInt8]

  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  package init(_ name: String, _ data: [UInt8]) {
    self.name = name
    self.data = data
  }

  /// A file of chunks.
  package static func file(_ chunks: [PNGChunk]) -> [UInt8] {
    signature + chunks.flatMap(\.bytes)
  }

  /// The chunks of a whole file.
  package static func chunks(of file: [UInt8]) -> [PNGChunk] {
    var chunks: [PNGChunk] = []
    var offset = signature.count
    while offset < file.count {
      let count = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      let name = String(decoding: file[offset + 4..<offset + 8], as: UTF8.self)
      chunks.append(PNGChunk(name, Array(file[offset + 8..<offset + 8 + count])))
      offset += 12 + count
    }
    return chunks
  }

  private var bytes: [UInt8] {
    let named = Array(name.utf8) + data
    var sum = CRC32()
    sum.add(named.span)
    return Self.bigEndian(data.count) + named + Self.bigEndian(Int(sum.value))
  }

  package static func bigEndian(_ number: Int, byteCount: Int = 4) -> [UInt8] {
    (0..<byteCount).map { UInt8(truncatingIfNeeded: number >> (8 * (byteCount - 1 - $0))) }
  }
}
