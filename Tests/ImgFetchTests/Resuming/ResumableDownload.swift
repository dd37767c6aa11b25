import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// An origin with a picture, `/a`, whose transfer breaks off.
protocol ResumableDownload {
  var origin: TestOrigin { get }
  var picture: [UInt8] { get }
}

extension ResumableDownload {
  static var tag: String { "\"v1\"" }
  static var length: Int { 1_000_000 }
  /// The bytes after which the transfer breaks off.
  static var cut: Int { 300_000 }

  var url: String { origin.baseURL + "/a" }

  func resource(_ delivery: Delivery = .whole) -> Behaviour {
    .resource(Resource(picture, entityTag: Self.tag, delivery: delivery))
  }

  /// Fetches a body that breaks off.
  func partialBody(_ fetcher: Fetcher) throws -> PartialBody {
    try #require(fetcher.fetch(url).partialBody)
  }
}

extension FinishedTransfer {
  var partialBody: PartialBody? {
    guard case .partial(let partial, _) = leftover else { return nil }
    return partial
  }

  /// Whether the partial body in the store is of no use any more.
  var isObsolete: Bool {
    if case .obsolete = leftover { true } else { false }
  }

  fileprivate var chargeOfPartialBody: BodyCharge? {
    guard case .partial(_, let charge) = leftover else { return nil }
    return charge
  }
}

extension Fetcher {
  /// Gives back the body, or the partial body, of a transfer.
  func releaseBody(_ transfer: FinishedTransfer) {
    if let charge = transfer.body?.charge ?? transfer.chargeOfPartialBody {
      pool.releaseBody(charge)
    }
  }
}
