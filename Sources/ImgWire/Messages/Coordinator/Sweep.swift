package import ImgModel

/// The thumbnails that a worker removes from the store.
package struct Sweep: Hashable, Sendable, Codable {
  /// The worker removes thumbnails that have expired by this moment, which may be in the past.
  package let moment: WallTime

  package init(at moment: WallTime) {
    self.moment = moment
  }

  private enum CodingKeys: String, CodingKey {
    case moment = "expired_at"
  }
}
