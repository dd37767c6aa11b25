import FoundationEssentials
import ImgFacts
import ImgModel
import ImgWorkerMachine

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
  /// What is fetched of a picture in parts, for its facts; `nil` if its whole body is.
  var fetchedFactsExtent: FactsExtent? { isWhole ? nil : factsExtent }

  /// What is read of a picture whose facts are wanted; `nil` if the picture itself is.
  var factsExtent: FactsExtent? {
    switch self {
    case .whole: nil
    case .facts: .metadata
    case .allFacts, .wholeOfAnyFormat: .all
    }
  }
}
