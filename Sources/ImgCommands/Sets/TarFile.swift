import ImgModel
import ImgSystem

/// Archives in the format that every reader of tar takes: plain ustar (POSIX.1, pax, "ustar Interchange Format"), regular
/// files alone, no extended headers, whole seconds.
///
/// Readers of sets find a member by its header of one block. Some of them know no extended headers, and take the name of
/// one for the name of a member.
enum TarFormat {
  static let blockByteCount = 512
  /// The longest name that fits without a prefix.
  static let maximumNameByteCount = 100
  /// The end of an archive: two blocks of zeros, in a record of 20 blocks, as tar(1) fills it.
  fileprivate static let recordByteCount = 20 * blockByteCount

  /// A field of a header: where it is, and how many bytes it has.
  fileprivate enum Field {
    static let name = 0..<100
    static let mode = 100..<108
    static let user = 108..<116
    static let group = 116..<124
    static let size = 124..<136
    static let time = 136..<148
    static let checksum = 148..<156
    static let kind = 156
    static let magic = 257..<265
    static let prefix = 345..<500
  }
  fileprivate static let magic = Array("ustar\0".utf8) + Array("00".utf8)

  /// The number of bytes that a content takes, in whole blocks.
  fileprivate static func padded(_ byteCount: Int) -> Int {
    (byteCount + blockByteCount - 1) / blockByteCount * blockByteCount
  }

  /// The sum of all bytes of a header, with spaces in the place of the sum.
  fileprivate static func checksum(of header: [UInt8]) -> Int {
    header.enumerated().reduce(0) { sum, byte in
      sum + (Field.checksum.contains(byte.offset) ? 0x20 : Int(byte.element))
    }
  }
}

/// Writes an archive to a file.
struct TarWriter {
  private let descriptor: CInt
  /// For errors.
  private let path: String
  private var buffer: [UInt8] = []
  private var byteCount = 0

  private static let bufferByteCount = 1 << 20

  init(to descriptor: CInt, named path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  /// Adds a regular file.
  ///
  /// - Parameters:
  ///   - name: in ASCII, see ``TarFormat/maximumNameByteCount``.
  ///   - time: of its last change.
  mutating func add(_ name: String, _ content: [UInt8], at time: WallTime) throws(SystemError) {
    try write(Self.header(of: name, byteCount: content.count, at: time))
    try write(content)
    let padding = TarFormat.padded(content.count) - content.count
    try write([UInt8](repeating: 0, count: padding))
  }

  /// Ends the archive.
  mutating func finish() throws(SystemError) {
    let end = byteCount + 2 * TarFormat.blockByteCount
    let rest = end % TarFormat.recordByteCount
    let padding = rest == 0 ? 0 : TarFormat.recordByteCount - rest
    try write([UInt8](repeating: 0, count: 2 * TarFormat.blockByteCount + padding))
    try flush()
  }

  private mutating func write(_ bytes: [UInt8]) throws(SystemError) {
    buffer += bytes
    byteCount += bytes.count
    if buffer.count >= Self.bufferByteCount { try flush() }
  }

  private mutating func flush() throws(SystemError) {
    do throws(SystemError) {
      try FileIO.writeAll(descriptor, buffer.span)
    } catch {
      throw SystemError(operation: "write \(path)", code: error.code)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  private static func header(of name: String, byteCount: Int, at time: WallTime) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: TarFormat.blockByteCount)
    func put(_ bytes: some Collection<UInt8>, in field: Range<Int>) {
      precondition(bytes.count <= field.count, "a field of a tar header is as long as that")
      header.replaceSubrange(field.lowerBound..<field.lowerBound + bytes.count, with: bytes)
    }
    /// Octal digits, and a zero byte.
    func put(_ number: Int, in field: Range<Int>) {
      let digits = String(number, radix: 8)
      put((String(repeating: "0", count: field.count - 1 - digits.count) + digits).utf8, in: field)
    }
    put(name.utf8, in: TarFormat.Field.name)
    put(0o644, in: TarFormat.Field.mode)
    put(0, in: TarFormat.Field.user)
    put(0, in: TarFormat.Field.group)
    put(byteCount, in: TarFormat.Field.size)
    put(max(0, Int(time.rawValue / 1_000)), in: TarFormat.Field.time)
    header[TarFormat.Field.kind] = UInt8(ascii: "0")
    put(TarFormat.magic, in: TarFormat.Field.magic)
    // Six digits, a zero byte and a space.
    put(TarFormat.checksum(of: header), in: TarFormat.Field.checksum.dropLast())
    header[TarFormat.Field.checksum.upperBound - 1] = 0x20
    return header
  }
}

/// A regular file in an archive.
struct TarMember: Hashable {
  let name: String
  /// Where the archive has its content.
  let content: Range<Int>

  /// Where the next member begins.
  fileprivate var end: Int { content.lowerBound + TarFormat.padded(content.count) }
}

/// Reads the members of an archive that ``TarWriter`` wrote, in their order.
struct TarReader {
  private let descriptor: CInt
  private let byteCount: Int
  private var position = 0
  /// Whether the end of the archive was read, rather than a damage.
  private(set) var isAtEnd = false

  /// - Parameter byteCount: of the file.
  init(from descriptor: CInt, byteCount: Int) {
    self.descriptor = descriptor
    self.byteCount = byteCount
  }

  /// - Returns: `nil` at the end, and where the archive is cut off or no archive.
  mutating func next() throws(SystemError) -> TarMember? {
    let header = try FileIO.contents(
      of: descriptor, in: position..<position + TarFormat.blockByteCount)
    guard header.count == TarFormat.blockByteCount else { return nil }
    if header.allSatisfy({ $0 == 0 }) {
      isAtEnd = true
      return nil
    }
    guard let member = Self.member(of: header, at: position), member.end <= byteCount
    else { return nil }
    position = member.end
    return member
  }

  private static func member(of header: [UInt8], at position: Int) -> TarMember? {
    func number(_ field: Range<Int>) -> Int? {
      let digits = header[field].prefix { $0 != 0 && $0 != 0x20 }
      return Int(String(decoding: digits, as: UTF8.self), radix: 8)
    }
    guard header[TarFormat.Field.magic].elementsEqual(TarFormat.magic),
      header[TarFormat.Field.kind] == UInt8(ascii: "0"),
      header[TarFormat.Field.prefix].allSatisfy({ $0 == 0 }),
      number(TarFormat.Field.checksum) == TarFormat.checksum(of: header),
      let byteCount = number(TarFormat.Field.size), byteCount >= 0
    else { return nil }
    let name = header[TarFormat.Field.name].prefix { $0 != 0 }
    let start = position + TarFormat.blockByteCount
    return TarMember(
      name: String(decoding: name, as: UTF8.self), content: start..<start + byteCount)
  }
}
