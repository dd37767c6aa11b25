/// The expiry that one request asks for.
package struct Expiry: Hashable, Sendable {
  package enum Moment: Hashable, Sendable {
    /// The coordinator's default duration when the fetch starts, from the download on.
    case standard
    /// A duration from the download on, in ``RequestOptions/expiryRange``.
    case after(Duration)
    /// A date, independent of the download.
    case at(WallTime)
  }

  package let moment: Moment
  /// Whether each access restarts the duration. A date is fixed, so it cannot slide.
  package let isSliding: Bool

  package static let standard = Expiry(.standard)

  /// - Precondition: a duration is in its range, and a date does not slide.
  package init(_ moment: Moment, isSliding: Bool = false) {
    switch moment {
    case .standard: break
    case .after(let duration):
      precondition(
        RequestOptions.expiryRange.contains(duration), "the expiry must be from 1 ms to 100 years")
    case .at: precondition(!isSliding, "an expiry date cannot slide")
    }
    self.moment = moment
    self.isSliding = isSliding
  }

  /// The retention of a thumbnail that is made for the request.
  package func retention(defaultExpiry: Duration) -> Retention {
    switch moment {
    case .standard: retention(of: defaultExpiry)
    case .after(let duration): retention(of: duration)
    case .at(let date): Retention(until: date)
    }
  }

  /// The retention that the request adds to a thumbnail already in the store. The default applies
  /// only to newly stored thumbnails, except that a sliding default restarts on this access.
  package func retentionOfStored(defaultExpiry: Duration) -> Retention {
    guard case .standard = moment else { return retention(defaultExpiry: defaultExpiry) }
    return Retention(sliding: isSliding ? defaultExpiry : .zero)
  }

  private func retention(of duration: Duration) -> Retention {
    Retention(after: duration, sliding: isSliding ? duration : .zero)
  }
}
