import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import ImgWorkerMachine

/// Puts pictures into the memory of a decoder.
struct PictureReader: Sendable {
  let store: SharedStore
  let files: LocalFiles

  /// A picture in the memory of a decoder.
  struct Picture {
    let byteCount: Int
    /// The original of the store, if it is one.
    var original: OriginalFacts?
    /// Bytes of the picture, if they were read from a file or from the URL.
    var localByteCount: Int?
    /// The bytes, if a client uploaded them and they are to be stored.
    var upload: [UInt8]?
  }

  /// - Parameter isLenient: whether an original that is known to be damaged is put, too.
  /// - Returns: `nil` if the original is not in the store.
  /// - Throws: a ``Failure`` if the picture cannot be read, or does not fit.
  func put(
    _ source: PictureSource, isLenient: Bool, into memory: PictureMemory
  ) throws(Failure) -> Picture? {
    switch source {
    case .body(.memory(let bytes)):
      return Picture(byteCount: try put(bytes.span, into: memory))
    case .body(.file(let file, let byteCount)):
      return Picture(
        byteCount: try put(
          "the body", of: byteCount, from: file.descriptor, into: memory, isRetryable: nil))
    case .bytes(let bytes):
      let byteCount = try put(bytes.span, into: memory)
      return Picture(byteCount: byteCount, localByteCount: byteCount)
    case .file(let path):
      let byteCount = try files.put(path, into: memory)
      return Picture(byteCount: byteCount, localByteCount: byteCount)
    case .upload(let file, let byteCount, let isStored):
      return try put(file, byteCount: byteCount, isStored: isStored, into: memory)
    case .original(let key):
      return try putOriginal(key, isLenient: isLenient, into: memory)
    }
  }

  private func put(
    _ bytes: borrowing Span<UInt8>, into memory: PictureMemory
  ) throws(Failure) -> Int {
    try Self.check(bytes.count, in: memory)
    memory.put(bytes)
    return bytes.count
  }

  private func put(
    _ what: String, of byteCount: Int, from descriptor: CInt, into memory: PictureMemory,
    isRetryable: Bool?
  ) throws(Failure) -> Int {
    try Self.check(byteCount, in: memory)
    return try Self.reading(what, isRetryable: isRetryable) { () throws(SystemError) in
      try memory.put(contentsOf: descriptor, upTo: byteCount)
    }
  }

  private func put(
    _ file: MemoryFile, byteCount: Int, isStored: Bool, into memory: PictureMemory
  ) throws(Failure) -> Picture {
    let bytes = try Self.reading("the uploaded picture", isRetryable: false) {
      () throws(SystemError) in try file.contents(byteCount: byteCount)
    }
    return Picture(
      byteCount: try put(bytes.span, into: memory), upload: isStored ? bytes : nil)
  }

  private func putOriginal(
    _ key: ContentKey, isLenient: Bool, into memory: PictureMemory
  ) throws(Failure) -> Picture? {
    let found = try? store.current().withThumbnail(
      key, at: .now, recordingAccess: .none
    ) { stored, bytes -> (StoredThumbnail, byteCount: Int)? in
      guard stored.thumbnail.answers(isLenient: isLenient) else { return nil }
      if bytes.count <= memory.maximumByteCount { memory.put(bytes) }
      return (stored, bytes.count)
    }
    guard let (stored, byteCount) = found ?? nil else { return nil }
    try Self.check(byteCount, in: memory)
    return Picture(byteCount: byteCount, original: OriginalFacts(stored))
  }

  private static func check(_ byteCount: Int, in memory: PictureMemory) throws(Failure) {
    guard byteCount <= memory.maximumByteCount else {
      throw Failure(
        stage: .fetch, code: .tooLarge,
        detail: "\(byteCount) bytes; \(memory.maximumByteCount) are the most")
    }
  }

  private static func reading<Result>(
    _ what: String, isRetryable: Bool?, _ body: () throws(SystemError) -> Result
  ) throws(Failure) -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      throw Failure(
        stage: .fetch, code: .internal, isRetryable: isRetryable,
        detail: "\(what) cannot be read: \(error)")
    }
  }
}

extension OriginalFacts {
  init(_ stored: StoredThumbnail) {
    self.init(
      picture: stored.thumbnail, sourceByteCount: stored.sourceByteCount,
      storedAt: stored.storedAt, expiresAt: stored.expiresAt, terms: stored.terms)
  }
}
