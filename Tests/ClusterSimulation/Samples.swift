import ImgModel

extension Thumbnail {
  static let sample = Thumbnail(format: .jpeg, width: 256, height: 192, byteCount: 1_000)
}

extension UncachedThumbnail {
  /// As the request wanted it.
  static let wanted = uncached(nil)
  /// The store has no room.
  static let refused = uncached(Failure(stage: .store, code: .storeFull, detail: "no room"))

  private static func uncached(_ failure: Failure?) -> UncachedThumbnail {
    UncachedThumbnail(
      thumbnail: .sample, sourceFormat: .jpeg, sourceWidth: 4_000, sourceHeight: 3_000,
      sourceByteCount: 50_000, failure: failure)
  }
}

extension Outcome {
  static let fetchedSample = Outcome.done(.sample, fromCache: false, bytesFetched: 50_000)
  static let cachedSample = Outcome.done(.sample, fromCache: true, bytesFetched: 0)
  /// For whom the bytes were not fetched, but who waited for them.
  static let sharedSample = Outcome.done(.sample, fromCache: false, bytesFetched: 0)

  static func failure(_ code: Failure.Code, stage: Failure.Stage = .fetch) -> Outcome {
    .failed(Failure(stage: stage, code: code, detail: ""))
  }

  /// The status of the origin that it has failed with.
  var failedHTTPStatus: Int? {
    if case .failed(let failure, _) = self { failure.httpStatus } else { nil }
  }

  /// Whether nothing was fetched for it because of a pause of the host.
  var isRefusal: Bool {
    if case .failed(let failure, _) = self {
      failure.stage == .queue && failure.retryAt != nil
    } else {
      false
    }
  }

  var failureCode: Failure.Code? {
    if case .failed(let failure, _) = self { failure.code } else { nil }
  }
}

/// The URL of a picture with this number at this host.
func url(_ number: Int, host: String = "example.com") -> String {
  "http://\(host)/\(number)"
}

/// URLs that are all at different hosts.
func spreadURLs(_ numbers: some Sequence<Int>) -> [String] {
  numbers.map { url($0, host: "host\($0)") }
}
