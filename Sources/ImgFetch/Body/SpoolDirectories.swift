internal import ImgSystem

/// Where files for long bodies are made: in the first directory that takes one.
struct SpoolDirectories {
  private let paths: [String]

  init(_ paths: [String]) {
    self.paths = paths
  }

  /// A new, empty file; `nil` where none can be made.
  func makeFile() -> SpoolFile? {
    for path in paths {
      if let file = try? SpoolFile(in: path) { return file }
    }
    return nil
  }

  /// A copy of bytes: in a file when they are too many for memory.
  func content(copying bytes: Span<UInt8>) -> BodyContent {
    if bytes.count > BodyBuffer.maximumMemoryByteCount, let file = makeFile(),
      (try? file.append(bytes)) != nil
    {
      return .file(file, byteCount: bytes.count)
    }
    return .memory(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
  }
}
