internal import ImgSystem

/// Writes a body to its file in blocks. An origin chooses how few bytes come in at once, and each
/// write is a system call.
///
/// A block is as long as the read buffer that libcurl has for each transfer.
struct SpoolWriter {
  let file: SpoolFile
  /// Of the whole body; the last bytes are in the file only after ``flush()``.
  private(set) var byteCount: Int
  private var block: [UInt8] = []

  static let blockByteCount = EasyHandle.readBufferByteCount

  /// Bytes that are in the file.
  var writtenByteCount: Int { byteCount - block.count }

  /// - Parameter byteCount: of the file, to which more is added.
  init(to file: SpoolFile, byteCount: Int = 0) {
    self.file = file
    self.byteCount = byteCount
  }

  /// - Throws: when a block cannot be written.
  mutating func append(_ bytes: borrowing Span<UInt8>) throws(SystemError) {
    byteCount += bytes.count
    if bytes.count > Self.blockByteCount - block.count { try flush() }
    if bytes.count >= Self.blockByteCount {
      try file.append(bytes)
    } else {
      block.reserveCapacity(Self.blockByteCount)
      unsafe bytes.withUnsafeBufferPointer { unsafe block.append(contentsOf: $0) }
    }
  }

  /// Writes what is left, and frees the block.
  mutating func flush() throws(SystemError) {
    guard !block.isEmpty else { return }
    try file.append(block.span)
    block = []
  }
}
