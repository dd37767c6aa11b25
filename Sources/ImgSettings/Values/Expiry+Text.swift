package import ImgModel

extension Expiry.Moment {
  /// The word for the longest expiry.
  private static let never = "never"

  /// Reads a duration, `never`, or a date as ``WallTime/init(parsing:)`` does.
  package init(parsing text: String) throws(InvalidValue) {
    if text == Self.never {
      self = .after(milliseconds: RequestOptions.expiryRangeMilliseconds.upperBound)
    } else if text.dropFirst().contains("-") {
      // Durations contain no hyphen.
      self = .at(try WallTime(parsing: text))
    } else {
      self = .after(
        milliseconds: try UnitScale.duration.value(
          parsing: text, in: RequestOptions.expiryRangeMilliseconds))
    }
  }
}

extension Expiry {
  /// - Throws: if the date has passed or is too far ahead for a thumbnail made now.
  package func check(at now: WallTime) throws(InvalidValue) {
    guard case .at(let date) = moment else { return }
    guard date > now else {
      throw InvalidValue("the expiry \(date) is in the past")
    }
    guard now.milliseconds(to: date) <= RequestOptions.expiryRangeMilliseconds.upperBound else {
      throw InvalidValue("the expiry \(date) is more than a century ahead")
    }
  }
}
