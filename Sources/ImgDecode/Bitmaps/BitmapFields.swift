/// The fields of a bitmap's header, at the offsets that all headers but the oldest have in common. Each
/// header is the beginning of a longer one. A field that a header is too short for is 0.
struct BitmapFields {
  /// Of the oldest header, of OS/2 1 and Windows 2.
  static let coreByteCount = 12
  /// The next are those of OS/2 2 (shortened and whole), Windows 3, two of Adobe, Windows 4 and 5.
  private static let byteCounts = [coreByteCount, 16, 64, 40, 52, 56, 108, 124]
  private static let maximumByteCount = 124

  /// Of the header alone.
  let byteCount: Int
  /// The header and what follows, then zeros.
  private let bytes: LittleEndianBytes

  init(_ input: PictureInput, at offset: Int) throws(DecodeError) {
    let read = input.bytes(at: offset, upTo: Self.maximumByteCount)
    let absent = [UInt8](repeating: 0, count: Self.maximumByteCount - read.count)
    bytes = LittleEndianBytes(read + absent)
    byteCount = bytes.unsigned(at: 0)
    guard read.count >= min(byteCount, Self.maximumByteCount) else {
      throw .corrupt("its header is cut")
    }
    guard Self.byteCounts.contains(byteCount) else {
      throw .corrupt("its header declares to have \(byteCount) bytes")
    }
  }

  var isCore: Bool { byteCount == Self.coreByteCount }
  /// Whether it is one of OS/2 2, which numbers its compressions otherwise.
  var isOS2: Bool { [16, 64].contains(byteCount) }

  func unsigned(at offset: Int) -> Int {
    offset + 4 <= byteCount ? bytes.unsigned(at: offset) : 0
  }

  func signed(at offset: Int) -> Int {
    Int(Int32(truncatingIfNeeded: unsigned(at: offset)))
  }

  func short(at offset: Int) -> Int {
    offset + 2 <= byteCount ? bytes.short(at: offset) : 0
  }

  // MARK: - Masks

  private static let masksOffset = 40
  private static let maskByteCount = 4

  /// Bytes of the masks that follow a header of Windows 3, which has no fields for them.
  ///
  /// - Parameter compression: 3 for masks of three channels, 6 for four.
  func followingMasksByteCount(compression: Int) -> Int {
    guard byteCount == Self.masksOffset else { return 0 }
    switch compression {
    case 3: return 3 * Self.maskByteCount
    case 6: return 4 * Self.maskByteCount
    default: return 0
    }
  }

  /// Of red, green, blue and the opacity; 0 for an absent one.
  func masks(compression: Int) -> [UInt32] {
    let end = byteCount + followingMasksByteCount(compression: compression)
    return (0..<4).map { index in
      let offset = Self.masksOffset + index * Self.maskByteCount
      let isThere = offset + Self.maskByteCount <= end && !isOS2
      return isThere ? UInt32(truncatingIfNeeded: bytes.unsigned(at: offset)) : 0
    }
  }

  // MARK: - The colour profile

  /// "MBED" as a number: the profile lies in the file ([MS-WMF] section 2.1.1.14). Any other value
  /// means sRGB, or a file elsewhere, or numbers that other readers ignore, too.
  private static let embeddedProfile = 0x4D42_4544

  /// Where the profile lies, counted from the header's first byte; `nil` if there is none.
  var profile: Range<Int>? {
    let (start, count) = (unsigned(at: 112), unsigned(at: 116))
    guard unsigned(at: 56) == Self.embeddedProfile, count > 0 else { return nil }
    return start..<start + count
  }
}
