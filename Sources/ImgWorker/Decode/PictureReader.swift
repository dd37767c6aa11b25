import Glibc
import ImgFacts
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// Puts pictures into the memory of a decoder.
struct PictureReader: Sendable {
  let store: SharedStore
  let files: LocalFiles

  /// A picture in the memory of a decoder.
  struct Picture {
    let byteCount: Int
    /// The original of the store, if it is one.
    var original: CacheRecord?
    /// Bytes of the picture, if they were read from a file or from the URL.
    var localByteCount: Int?
    /// The file with the bytes, if a client uploaded them and they are to be stored.
    var upload: MemoryFile?
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
    let name = "the uploaded picture"
    try Self.reading(name, isRetryable: false) { () throws(SystemError) in
      try file.verify(byteCount: byteCount)
    }
    let written = try put(
      name, of: byteCount, from: file.file.descriptor, into: memory, isRetryable: false)
    return Picture(byteCount: written, upload: isStored ? file : nil)
  }

  private func putOriginal(
    _ key: ContentKey, isLenient: Bool, into memory: PictureMemory
  ) throws(Failure) -> Picture? {
    let found = try? store.current().readContent(
      of: key, at: .now, recordingAccess: .none
    ) { stored, offset, bytes in
      guard stored.thumbnail.answers(isLenient: isLenient),
        stored.thumbnail.byteCount <= memory.maximumByteCount
      else { return false }
      memory.put(part: bytes, at: offset)
      return true
    }
    guard let stored = found ?? nil, stored.thumbnail.answers(isLenient: isLenient) else {
      return nil
    }
    try Self.check(stored.thumbnail.byteCount, in: memory)
    return Picture(byteCount: stored.thumbnail.byteCount, original: stored)
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
    try rethrowing(try body()) { (error: SystemError) in
      Failure(
        stage: .fetch, code: .internal, isRetryable: isRetryable,
        detail: "\(what) cannot be read: \(error)")
    }
  }
}

/// The pictures whose first attempt ended with a decoder, until they are tried once more.
///
/// The next attempt is likely to end another decoder, and one takes a while to start. So the others that wait
/// come first, and a spare decoder is ready for them. A picture does not wait for them for ever: after a
/// while, it only waits for the spare.
struct RepeatedDecodes {
  private static let maximumWait = Duration.seconds(5)

  /// With since when each waits, the oldest first. Each has a lease, so there are no more than these.
  private var waiting: [(job: DecodeJob, since: ContinuousClock.Instant)] = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func append(_ job: DecodeJob, at now: ContinuousClock.Instant) {
    waiting.append((job, now))
  }

  /// Takes the picture whose turn it is; `nil` if none may be tried now.
  ///
  /// - Parameters:
  ///   - isIdle: whether no other picture waits.
  ///   - hasSpare: whether a decoder is left for others, if the next one ends.
  mutating func next(
    isIdle: Bool, at now: ContinuousClock.Instant, hasSpare: () -> Bool
  ) -> DecodeJob? {
    guard let first = waiting.first else { return nil }
    let mayEnd = first.job.cancellation.isSet
    guard mayEnd || ((isIdle || now - first.since >= Self.maximumWait) && hasSpare()) else {
      return nil
    }
    return waiting.removeFirst().job
  }
}

/// The files that `file:` URLs may name: those below the directories that the coordinator was given.
struct LocalFiles: Sendable {
  /// Absolute paths without a slash at the end.
  let directories: [String]

  /// Puts the bytes of a file into the memory of a decoder.
  ///
  /// - Parameter path: absolute.
  /// - Returns: how many they are.
  /// - Throws: as ``withFile(_:upTo:_:)`` does.
  func put(_ path: String, into memory: PictureMemory) throws(Failure) -> Int {
    let limit = memory.maximumByteCount
    return try withFile(path, upTo: limit) { (file, _) throws(Failure) in
      return try rethrowing(try memory.put(contentsOf: file, upTo: limit)) { (error: SystemError) in
        Self.failure(error, path, upTo: limit)
      }
    }
  }

  /// Opens a file while `body` runs.
  ///
  /// - Parameters:
  ///   - path: absolute.
  ///   - maximumByteCount: the most that the file may have.
  ///   - body: gets the open file and its size.
  /// - Throws: a ``Failure`` of stage `fetch` with code `blocked_path`, `unreadable_file` or
  ///   `too_large`, and what `body` throws.
  func withFile<Result>(
    _ path: String, upTo maximumByteCount: Int, _ body: (CInt, Int) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let file = try open(path, upTo: maximumByteCount)
    let byteCount = try rethrowing(try FileStatus(of: file.rawValue).byteCount) {
      (error: SystemError) in
      Self.failure(error, path, upTo: maximumByteCount)
    }
    return try body(file.rawValue, byteCount)
  }

  private func open(
    _ path: String, upTo maximumByteCount: Int
  ) throws(Failure) -> OwnedDescriptor {
    // Of nested directories the outermost: links of the inner ones may lead to anywhere below it.
    let roots = directories.filter { path.hasPrefix($0 == "/" ? $0 : "\($0)/") }
    guard let root = roots.min(by: { $0.utf8.count < $1.utf8.count }) else {
      throw Self.failure(
        .blockedPath,
        "\(path) is not below an allowed directory; imgctl stop && imgctl start "
          + "--allow-directory DIR allows one")
    }
    do throws(SystemError) {
      let rest = path.dropFirst(root.count).drop { $0 == "/" }
      return try OpenDirectory(root).openFile(
        String(rest), named: path, upTo: maximumByteCount)
    } catch {
      guard error.code != EXDEV else {
        throw Self.failure(.blockedPath, "\(path) is a link that leads out of \(root)")
      }
      throw Self.failure(error, path, upTo: maximumByteCount)
    }
  }

  private static func failure(
    _ error: SystemError, _ path: String, upTo maximumByteCount: Int
  ) -> Failure {
    error.code == EFBIG
      ? failure(.tooLarge, "\(path) is longer than \(maximumByteCount) bytes")
      : failure(.unreadableFile, error.description)
  }

  private static func failure(_ code: Failure.Code, _ detail: String) -> Failure {
    Failure(stage: .fetch, code: code, detail: detail)
  }
}

/// Bytes of a body that is still arriving.
enum ArrivedPart: Sendable {
  /// A copy, in memory that a decoder takes over.
  case memory(PictureMemory, byteCount: Int)
  /// The file where later bytes are added.
  case file(SpoolFile, byteCount: Int)
}

/// Checks the headers of pictures that are stored without a decode: no decoder is asked. What a decoder refuses
/// by the first bytes and the header, before it takes memory for a pixel, is refused here with the same codes.
///
/// Some of it only a decoder can tell: the frames of a JPEG XL, the pictures inside an SVG, and variants of a
/// format that it does not read.
struct HeaderReader: Sendable {
  let store: SharedStore
  let files: LocalFiles
  let limits: Limits

  /// - Returns: the picture as its header describes it; `nil` if the original is not in the store.
  /// - Throws: a ``Failure`` if the picture cannot be read, is none, or is beyond a limit.
  func picture(of source: PictureSource) throws(Failure) -> DecodedPicture? {
    switch source {
    case .original(let key): return storedPicture(key)
    case .body(.memory(let bytes)): return try picture(in: WholeBytes(bytes), "the body")
    case .body(.file(let file, let byteCount)):
      return try picture(in: FileBytes(file.descriptor, byteCount: byteCount), "the body")
    case .bytes(let bytes):
      return try picture(in: WholeBytes(bytes), "the URL", localByteCount: bytes.count)
    case .file(let path):
      return try files.withFile(
        path, upTo: Int(limits.maxBodyByteCount)
      ) { (file, byteCount) throws(Failure) in
        try picture(
          in: FileBytes(file, byteCount: byteCount), path, localByteCount: byteCount)
      }
    case .upload(let file, let byteCount, _):
      let name = "the uploaded picture"
      try rethrowing(try file.verify(byteCount: byteCount)) { (_: SystemError) in
        Failure.unreadable(name)
      }
      return try picture(
        in: FileBytes(file.file.descriptor, byteCount: byteCount), name, localByteCount: byteCount)
    }
  }

  /// A picture that the store has was checked when it was stored.
  private func storedPicture(_ key: ContentKey) -> DecodedPicture? {
    guard let original = (try? store.current().facts(of: [key], at: .now))?.first ?? nil else {
      return nil
    }
    let source = original.source
    return DecodedPicture(
      thumbnail: original.thumbnail,
      source: SourceFacts(
        format: source.format, width: source.width, height: source.height, frames: 1,
        decodePath: .undecoded),
      original: original)
  }

  private func picture(
    in source: any ByteSource, _ name: String, localByteCount: Int? = nil
  ) throws(Failure) -> DecodedPicture {
    let byteCount = source.knownByteCount ?? 0
    let head = source.bytes(in: 0..<min(byteCount, FormatSniffer.examinedByteCount))
    guard let head else { throw .unreadable(name) }
    _ = try FormatSniffer.format(of: head, allowing: limits.allowedFormats)
    let facts = try rethrowing(try PictureFacts.headerWithFrames(in: source)) {
      (error: FactsError) in
      if case .needsBytes = error { Failure.unreadable(name) } else { Failure(error) }
    }
    return DecodedPicture(
      thumbnail: Thumbnail(
        format: facts.format, width: facts.width, height: facts.height, byteCount: byteCount),
      source: try checked(facts), localByteCount: localByteCount)
  }

  /// - Throws: a ``Failure`` with code `unsupported_format`, `too_many_pixels` or `too_many_frames`.
  private func checked(_ facts: PictureFacts) throws(Failure) -> SourceFacts {
    if let kind = facts.refusedKind {
      throw Failure(
        stage: .decode, code: .unsupportedFormat, detail: "\(kind) is not decoded")
    }
    let (pixelCount, isOverflow) = Int64(facts.storedWidth).multipliedReportingOverflow(
      by: Int64(facts.storedHeight))
    try limits.check(
      pixelCount: isOverflow ? .max : pixelCount,
      "\(facts.storedWidth) × \(facts.storedHeight) pixels")
    let frameCount = facts.frameCount ?? 1
    try limits.check(frameCount: frameCount)
    return SourceFacts(
      format: facts.format, width: facts.width, height: facts.height, frames: frameCount,
      decodePath: .undecoded)
  }
}

extension PictureFacts {
  /// What libjpeg refuses of a JPEG by its frame header; `nil` for all else.
  fileprivate var refusedKind: String? {
    guard format == .jpeg, let encoding, let bitsPerSample else { return nil }
    if encoding == "jpeg-ls" || encoding.contains("lossless") || encoding.contains("differential") {
      return "lossless or hierarchical JPEG"
    }
    return bitsPerSample == 8 ? nil : "JPEG with \(bitsPerSample)-bit samples"
  }
}

extension Failure {
  fileprivate static func unreadable(_ name: String) -> Failure {
    Failure(stage: .fetch, code: .internal, isRetryable: false, detail: "\(name) cannot be read")
  }
}

/// A file that is at hand, read where it is asked for. What cannot be read is not at hand.
private struct FileBytes: ByteSource {
  private let descriptor: CInt
  private let byteCount: Int

  /// - Parameter descriptor: stays open while this value is in use.
  init(_ descriptor: CInt, byteCount: Int) {
    self.descriptor = descriptor
    self.byteCount = byteCount
  }

  var knownByteCount: Int? { byteCount }

  func bytes(in range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= byteCount,
      let bytes = try? FileIO.contents(of: descriptor, in: range), bytes.count == range.count
    else { return nil }
    return bytes
  }
}
