package import ImgModel

extension Expiry.Moment {
  /// The word for the longest that a thumbnail can be kept.
  private static let never = "never"

  /// Reads a duration, `never`, or a date as ``WallTime/init(parsing:)`` does.
  package init(parsing text: String) throws(InvalidValue) {
    if text == Self.never {
      self = .after(milliseconds: RequestOptions.expiryRangeMilliseconds.upperBound)
    } else if text.dropFirst().contains("-") {
      // No duration has a hyphen inside.
      self = .at(try WallTime(parsing: text))
    } else {
      self = .after(
        milliseconds: try UnitScale.duration.value(
          parsing: text, in: RequestOptions.expiryRangeMilliseconds))
    }
  }
}

extension Expiry {
  /// - Throws: where a thumbnail that is made from now on cannot be kept as long, or at all.
  package func check(at now: WallTime) throws(InvalidValue) {
    guard case .at(let date) = moment else { return }
    guard date > now else {
      throw InvalidValue("nothing can expire at \(date), which has passed")
    }
    guard now.milliseconds(to: date) <= RequestOptions.expiryRangeMilliseconds.upperBound else {
      throw InvalidValue("nothing is kept until \(date), which is more than a century away")
    }
  }
}
