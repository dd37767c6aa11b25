import ImgModel

/// The parts of an outcome; `nil` of one that has no such part.
extension Outcome {
  var width: Int? {
    if case .done(let thumbnail, _, _) = self { thumbnail.width } else { nil }
  }

  var isDamaged: Bool? {
    if case .done(let thumbnail, _, _) = self { thumbnail.isDamaged } else { nil }
  }

  var bytesFetched: Int? {
    switch self {
    case .done(_, _, let byteCount), .failed(_, let byteCount): byteCount
    case .cancelled: nil
    }
  }

  var isFromCache: Bool? {
    if case .done(_, let isFromCache, _) = self { isFromCache } else { nil }
  }

  var failureCode: Failure.Code? {
    if case .failed(let failure, _) = self { failure.code } else { nil }
  }
}
