/// The shared libraries that a program asks the dynamic linker for by name.
///
/// Reads just that much of a 64-bit little-endian ELF file: the section of type `SHT_DYNAMIC`, its
/// entries with the tag `DT_NEEDED`, and the names they point to (elf(5)).
struct ElfImage {
  struct Malformed: Error {}

  let neededLibraries: [String]

  init(bytes: [UInt8]) throws(Malformed) {
    let reader = Reader(bytes: bytes)
    guard bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { throw Malformed() }
    let table = try reader.integer(at: 0x28, byteCount: 8)
    let entrySize = try reader.integer(at: 0x3A, byteCount: 2)
    let entryCount = try reader.integer(at: 0x3C, byteCount: 2)
    let headers = (0..<entryCount).map { table + $0 * entrySize }

    var names: [String] = []
    for header in headers where try reader.integer(at: header + 4, byteCount: 4) == 6 {
      let linked = try reader.integer(at: header + 0x28, byteCount: 4)
      guard headers.indices.contains(linked) else { throw Malformed() }
      let strings = try reader.integer(at: headers[linked] + 0x18, byteCount: 8)
      let first = try reader.integer(at: header + 0x18, byteCount: 8)
      let byteCount = try reader.integer(at: header + 0x20, byteCount: 8)
      for entry in stride(from: first, to: first + byteCount, by: 16)
      where try reader.integer(at: entry, byteCount: 8) == 1 {
        let name = try reader.integer(at: entry + 8, byteCount: 8)
        names.append(try reader.text(at: strings + name))
      }
    }
    neededLibraries = names
  }

  private struct Reader {
    let bytes: [UInt8]

    func integer(at offset: Int, byteCount: Int) throws(Malformed) -> Int {
      guard offset >= 0, offset <= bytes.count - byteCount else { throw Malformed() }
      let value = bytes[offset..<offset + byteCount].reversed().reduce(UInt64(0)) {
        $0 << 8 | UInt64($1)
      }
      // Everything read here is a tag or a place in a file that is in memory.
      guard let value = Int(exactly: value), value <= Int(Int32.max) else { throw Malformed() }
      return value
    }

    func text(at offset: Int) throws(Malformed) -> String {
      guard bytes.indices.contains(offset) else { throw Malformed() }
      return String(decoding: bytes[offset...].prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
