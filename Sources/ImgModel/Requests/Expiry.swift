/// When a request wants its thumbnail to expire.
package struct Expiry: Hashable, Sendable {
  package enum Moment: Hashable, Sendable {
    /// As long after the download as the coordinator is set when the fetch begins.
    case standard
    /// After the download of each thumbnail; in ``RequestOptions/expiryRangeMilliseconds``.
    case after(milliseconds: Int64)
    /// At one moment, whenever the download was.
    case at(WallTime)
  }

  package let moment: Moment
  /// Whether each access counts the duration anew. A date does not move, so it never slides.
  package let isSliding: Bool

  package static let standard = Expiry(.standard)

  /// - Precondition: a duration is in its range, and a date does not slide.
  package init(_ moment: Moment, isSliding: Bool = false) {
    switch moment {
    case .standard: break
    case .after(let milliseconds):
      precondition(
        RequestOptions.expiryRangeMilliseconds.contains(milliseconds),
        "an expiry is at most a century away")
    case .at: precondition(!isSliding, "a date does not slide")
    }
    self.moment = moment
    self.isSliding = isSliding
  }

  /// What it asks for of a thumbnail that is made for the request.
  package func retention(defaultMilliseconds: Int64) -> Retention {
    switch moment {
    case .standard: retention(ofDuration: defaultMilliseconds)
    case .after(let milliseconds): retention(ofDuration: milliseconds)
    case .at(let date): Retention(until: date)
    }
  }

  /// What it asks for of a thumbnail that is in the store already: what it names. The default is for
  /// what is stored from now on, and as a duration it counts only where it is to slide.
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
