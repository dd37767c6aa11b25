import ImgFacts

/// The bytes of a picture, for the time of one decode. They are decoded where they lie.
@safe struct PictureInput {
  let buffer: UnsafeBufferPointer<UInt8>

  /// - Parameter buffer: stays valid and unchanged while this value is in use.
  init(_ buffer: UnsafeBufferPointer<UInt8>) {
    unsafe self.buffer = buffer
  }

  var byteCount: Int { unsafe buffer.count }

  /// The bytes behind the first so many; `nil` if there are none.
  func dropping(_ byteCount: Int) -> PictureInput? {
    guard unsafe byteCount < buffer.count else { return nil }
    return unsafe PictureInput(UnsafeBufferPointer(rebasing: buffer[byteCount...]))
  }

  /// A part; `nil` if it is empty or does not lie within the bytes.
  func part(at offset: Int, byteCount: Int) -> PictureInput? {
    guard offset >= 0, byteCount > 0, offset < self.byteCount,
      byteCount <= self.byteCount - offset
    else { return nil }
    return unsafe PictureInput(
      UnsafeBufferPointer(rebasing: buffer[offset..<offset + byteCount]))
  }

  /// Copies all bytes to memory that has room for them.
  func copy(to start: UnsafeMutablePointer<UInt8>) {
    guard let first = unsafe buffer.baseAddress else { return }
    unsafe start.update(from: first, count: buffer.count)
  }

  /// At most so many bytes from an offset on; fewer at the end.
  func bytes(at offset: Int, upTo byteCount: Int) -> [UInt8] {
    guard unsafe offset < buffer.count else { return [] }
    return unsafe Array(buffer[offset..<min(buffer.count, offset + byteCount)])
  }
}

extension PictureInput: ByteSource {
  var knownByteCount: Int? { byteCount }

  func bytes(in range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= byteCount else { return nil }
    return unsafe Array(buffer[range])
  }
}

extension CopyrightNotice {
  /// That of a file; `nil` also for one whose metadata cannot be read.
  init?(in input: PictureInput) {
    guard let facts = try? PictureFacts.reading(input, .all) else { return nil }
    self.init(facts)
  }
}
