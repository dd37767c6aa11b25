import FoundationEssentials
import ImgFacts
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWorkerMachine

/// Reads the facts of pictures that are at hand: no decoder is asked, and only the parts that the facts
/// need are read.
struct FactsReader: Sendable {
  let store: SharedStore
  let files: LocalFiles
  let maximumByteCount: Int

  /// What was read.
  struct Reading {
    var record: FactsRecord
    /// The original of the store, if it was read.
    var original: CacheRecord?
    /// Bytes of the picture, if it comes from a file, from its URL or from a client.
    var localByteCount: Int?
  }

  /// - Returns: `nil` if the original is not in the store.
  /// - Throws: a ``Failure`` if the picture cannot be read, or has no facts.
  func reading(
    of source: PictureSource, _ extent: FactsExtent
  ) throws(Failure) -> Reading? {
    switch source {
    case .original(let key): return try reading(ofOriginal: key, extent)
    case .body(.memory(let bytes)): return Reading(record: try record(of: bytes, extent))
    case .bytes(let bytes):
      return Reading(record: try record(of: bytes, extent), localByteCount: bytes.count)
    case .body(.file(let file, let byteCount)):
      var reading = try reading(of: file.descriptor, byteCount: byteCount, "the body", extent)
      reading.localByteCount = nil
      return reading
    case .upload(let file, let byteCount, _):
      let descriptor = file.file.descriptor
      return try reading(of: descriptor, byteCount: byteCount, "the uploaded picture", extent)
    case .file(let path):
      return try files.withFile(path, upTo: maximumByteCount) { (file, byteCount) throws(Failure) in
        try reading(of: file, byteCount: byteCount, path, extent)
      }
    }
  }

  private func record(
    of bytes: [UInt8], _ extent: FactsExtent
  ) throws(Failure) -> FactsRecord {
    try FactsQuery.record(extent, byteCount: bytes.count) { Array(bytes[$0]) }
  }

  private func reading(
    of descriptor: CInt, byteCount: Int, _ name: String, _ extent: FactsExtent
  ) throws(Failure) -> Reading {
    let record = try FactsQuery.record(extent, byteCount: byteCount) { (range) throws(Failure) in
      return try rethrowing(try FileIO.contents(of: descriptor, in: range)) {
        (error: SystemError) in
        Failure(stage: .fetch, code: .unreadableFile, detail: "\(name) cannot be read: \(error)")
      }
    }
    return Reading(record: record, localByteCount: byteCount)
  }

  private func reading(
    ofOriginal key: ContentKey, _ extent: FactsExtent
  ) throws(Failure) -> Reading? {
    if let found = (try? store.current().chunkedContent(of: key, at: .now)) ?? nil {
      return try reading(of: found.content, found.record, extent)
    }
    let found = try? store.current().withThumbnail(
      key, at: .now, recordingAccess: .none
    ) { stored, bytes in
      Result { () throws(Failure) in
        let record = try FactsQuery.record(extent, byteCount: bytes.count) { range in
          let part = bytes.extracting(range)
          return unsafe part.withUnsafeBufferPointer { unsafe Array($0) }
        }
        return Reading(record: record, original: stored)
      }
    }
    return try (found ?? nil)?.get()
  }

  /// - Returns: `nil` if a chunk that the facts need is damaged, or no longer there.
  private func reading(
    of content: ChunkedContent, _ stored: CacheRecord, _ extent: FactsExtent
  ) throws(Failure) -> Reading? {
    var isMissing = false
    let record = Result { () throws(Failure) in
      try FactsQuery.record(extent, byteCount: content.byteCount) { range in
        let part = try? store.current().bytes(in: range, of: content, for: stored.id)
        guard let part = part ?? nil else {
          isMissing = true
          return []
        }
        return part
      }
    }
    return isMissing ? nil : Reading(record: try record.get(), original: stored)
  }
}

extension Input {
  /// The end of a decode whose result is the facts of the picture: they are the bytes in place of those
  /// of a thumbnail.
  ///
  /// - Parameter time: what the decoder took; `nil` if no pixels were decoded.
  init(_ lease: LeaseID, factsOf reading: FactsReader.Reading, time: Duration? = nil) {
    let facts = reading.record.facts
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      let bytes = Array(try encoder.encode(reading.record))
      let picture = DecodedPicture(
        thumbnail: Thumbnail(
          format: facts.format, width: facts.width, height: facts.height, byteCount: bytes.count),
        source: SourceFacts(
          format: facts.format, width: facts.width, height: facts.height,
          frames: facts.frameCount ?? 1),
        original: reading.original, localByteCount: reading.localByteCount)
      self.init(
        .decoded(lease, .picture(picture), time: time), with: .thumbnails([bytes], upload: nil))
    } catch {
      let failure = Failure(
        stage: .decode, code: .internal, detail: "the facts cannot be written: \(error)")
      self.init(.decoded(lease, .failed(failure), time: nil))
    }
  }
}

extension PicturePart {
  /// What is read of a picture whose facts are wanted; `nil` if the picture itself is.
  var factsExtent: FactsExtent? {
    switch self {
    case .whole: nil
    case .facts: .metadata
    case .allFacts, .wholeOfAnyFormat: .all
    }
  }
}
