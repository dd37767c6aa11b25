import ImgWire

/// The parts of an outcome; `nil` of one that has no such part.
extension Outcome {
  var width: Int? {
    if case .done(let thumbnail, _, _) = self { thumbnail.width } else { nil }
  }

  var bytesFetched: Int? {
    if case .done(_, _, let byteCount) = self { byteCount } else { nil }
  }

  var isFromCache: Bool? {
    if case .done(_, let isFromCache, _) = self { isFromCache } else { nil }
  }

  var failureCode: Failure.Code? {
    if case .failed(let failure) = self { failure.code } else { nil }
  }
}
