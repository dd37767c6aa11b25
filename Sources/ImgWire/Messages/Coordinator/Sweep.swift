package import ImgModel

/// Which thumbnails a worker is to remove.
package struct Sweep: Hashable, Sendable, Codable {
  /// Those that have expired at this moment, which may be the past.
  package let moment: WallTime

  package init(at moment: WallTime) {
    self.moment = moment
  }

  private enum CodingKeys: String, CodingKey {
    case moment = "expired_at"
  }
}
