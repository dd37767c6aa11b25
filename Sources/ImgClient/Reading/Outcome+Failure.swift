package import ImgModel

extension Outcome {
  /// Why there is no thumbnail; `nil` if there is one.
  ///
  /// - Parameter reason: why the request was cancelled.
  package func failure(cancelledBecause reason: String = "the request was cancelled") -> Failure? {
    switch self {
    case .done: nil
    case .failed(let failure, _): failure
    case .cancelled: Failure(stage: .queue, code: .cancelled, detail: reason)
    }
  }
}

extension Failure {
  /// The coordinator reported a thumbnail that is no longer in the store.
  package static var isGone: Failure {
    Failure(
      stage: .store, code: .internal, detail: "the thumbnail was removed before it was read")
  }
}
