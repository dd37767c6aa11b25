import FoundationEssentials

/// Damage to the headers of a store's pages that LMDB does not check before it relies on them: it
/// asserts (SIGABRT), reads outside of the map (SIGSEGV), or reports an internal error.
///
/// A page begins with its number (8 bytes), padding (2), flags (2) and the ends of the free room
/// inside it (2 each); the offsets of its entries follow, 2 bytes each (`MDB_page` in LMDB's
/// source).
enum PageDamage: String, CaseIterable {
  /// Branch pages say that they have a single entry.
  case branchCounts
  /// The entries of branch pages lead back to the page.
  case circles
  /// The entries of leaf pages lie behind the page.
  case entryOffsets
  /// Leaf pages have more entries than fit.
  case leafCounts

  private static let pageByteCount = 4_096
  private static let headerByteCount = 16
  private enum Flag {
    static let branch = 1
    static let leaf = 2
    static let overflow = 4
  }

  /// Damages every page of the kind. No process has the file open.
  func apply(toStoreIn directory: String) throws {
    let url = URL(filePath: "\(directory)/data.mdb")
    var bytes = [UInt8](try Data(contentsOf: url))
    var page = 0
    while (page + 1) * Self.pageByteCount <= bytes.count {
      let start = page * Self.pageByteCount
      let flags = Self.number(at: start + 10, of: bytes)
      let isNamed = Self.number(at: start, of: bytes) == page & 0xFFFF
      // The pages of a long value have one header.
      page +=
        isNamed && flags == Flag.overflow ? max(1, Self.number(at: start + 12, of: bytes)) : 1
      if isNamed { damage(flags, at: start, in: &bytes) }
    }
    try Data(bytes).write(to: url)
  }

  private func damage(_ flags: Int, at start: Int, in bytes: inout [UInt8]) {
    let end = Self.number(at: start + 12, of: bytes)
    let offsets = stride(from: start + Self.headerByteCount, to: start + end, by: 2)
    switch (self, flags) {
    case (.branchCounts, Flag.branch):
      Self.set(Self.headerByteCount + 2, at: start + 12, in: &bytes)
    case (.circles, Flag.branch):
      for offset in offsets {
        // An entry of a branch begins with the number of the page that it leads to.
        let entry = start + Self.number(at: offset, of: bytes)
        Self.set(start / Self.pageByteCount, at: entry, in: &bytes)
      }
    case (.entryOffsets, Flag.leaf):
      for offset in offsets { Self.set(0xFFFF, at: offset, in: &bytes) }
    case (.leafCounts, Flag.leaf):
      Self.set(0x7FF0, at: start + 12, in: &bytes)
    default:
      break
    }
  }

  private static func number(at offset: Int, of bytes: [UInt8]) -> Int {
    Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
  }

  private static func set(_ value: Int, at offset: Int, in bytes: inout [UInt8]) {
    bytes[offset] = UInt8(value & 0xFF)
    bytes[offset + 1] = UInt8(value >> 8)
  }
}
