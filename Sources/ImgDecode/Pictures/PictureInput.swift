import Glibc

/// Where a decoder finds the bytes of a picture, for the time of one decode.
@safe enum PictureInput {
  case memory(UnsafeBufferPointer<UInt8>)
  /// An open file, read from its start wherever its position is.
  case file(descriptor: CInt)

  /// At most so many bytes from an offset on; fewer at the end, or where the file cannot be read.
  func bytes(at offset: Int, upTo byteCount: Int) -> [UInt8] {
    switch self {
    case .memory(let buffer):
      guard offset < buffer.count else { return [] }
      return unsafe Array(buffer[offset..<min(buffer.count, offset + byteCount)])
    case .file(let descriptor):
      return unsafe Array(unsafeUninitializedCapacity: byteCount) { buffer, count in
        count = unsafe max(0, pread(descriptor, buffer.baseAddress, byteCount, offset))
      }
    }
  }
}

extension EncodedPicture {
  /// Calls `body` with the bytes, which stay where they are until it returns.
  func withInput<Result: ~Copyable, Reason: Error>(
    _ body: (PictureInput) throws(Reason) -> Result
  ) throws(Reason) -> Result {
    switch self {
    case .memory(let bytes):
      try unsafe bytes.span.withUnsafeBufferPointer { (buffer) throws(Reason) -> Result in
        try unsafe body(.memory(buffer))
      }
    case .file(let descriptor, _):
      try body(.file(descriptor: descriptor))
    }
  }
}
