package import ImgModel

extension Expiry.Moment {
  /// The word for the longest expiry.
  private static let never = "never"

  /// Reads a duration, `never`, or a date as ``WallTime/init(parsing:)`` does.
  package init(parsing text: String) throws(InvalidValue) {
    if text == Self.never {
      self = .after(RequestOptions.expiryRange.upperBound)
    } else if text.dropFirst().contains("-") {
      // Durations contain no hyphen.
      self = .at(try WallTime(parsing: text))
    } else {
      self = .after(try Duration(parsing: text, in: RequestOptions.expiryRange))
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
    guard now.duration(to: date) <= RequestOptions.expiryRange.upperBound else {
      throw InvalidValue("the expiry \(date) is more than a century ahead")
    }
  }
}
