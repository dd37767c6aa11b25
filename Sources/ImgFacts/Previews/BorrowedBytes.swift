/// The first bytes of a file, in memory that belongs to the caller.
///
/// The memory outlives the value.
@unsafe struct BorrowedBytes: ByteSource {
  private let buffer: UnsafeBufferPointer<UInt8>

  init(_ buffer: UnsafeBufferPointer<UInt8>) {
    unsafe self.buffer = buffer
  }

  /// More may follow.
  var knownByteCount: Int? { nil }

  func bytes(in range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, unsafe range.upperBound <= buffer.count else { return nil }
    return unsafe Array(buffer[range])
  }
}
