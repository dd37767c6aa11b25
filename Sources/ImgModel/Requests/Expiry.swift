/// The expiry that one request asks for.
package struct Expiry: Hashable, Sendable {
  package enum Moment: Hashable, Sendable {
    /// The coordinator's default duration when the fetch starts, from the download on.
    case standard
    /// A duration from the download on, in ``RequestOptions/expiryRangeMilliseconds``.
    case after(milliseconds: Int64)
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
    case .after(let milliseconds):
      precondition(
        RequestOptions.expiryRangeMilliseconds.contains(milliseconds),
        "the expiry must be from 1 ms to 100 years")
    case .at: precondition(!isSliding, "an expiry date cannot slide")
    }
    self.moment = moment
    self.isSliding = isSliding
  }

  /// The retention of a thumbnail that is made for the request.
  package func retention(defaultMilliseconds: Int64) -> Retention {
    switch moment {
    case .standard: retention(ofDuration: defaultMilliseconds)
    case .after(let milliseconds): retention(ofDuration: milliseconds)
    case .at(let date): Retention(until: date)
    }
  }

  /// The retention that the request adds to a thumbnail already in the store. The default applies
  /// only to newly stored thumbnails, except that a sliding default restarts on this access.
  package func retentionOfStored(defaultMilliseconds: Int64) -> Retention {
    guard case .standard = moment else {
      return retention(defaultMilliseconds: defaultMilliseconds)
    }
    return Retention(slidingMilliseconds: isSliding ? defaultMilliseconds : 0)
  }

  private func retention(ofDuration milliseconds: Int64) -> Retention {
    Retention(
      afterMilliseconds: milliseconds, slidingMilliseconds: isSliding ? milliseconds : 0)
  }
}
