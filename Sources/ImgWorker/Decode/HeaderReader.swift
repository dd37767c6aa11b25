import ImgFacts
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWorkerMachine

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
