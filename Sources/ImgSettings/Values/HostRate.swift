import ImgModel

/// The text of a rate of transfer starts at one host: `5/s`, `30/m`, `120/h`, or `none` for no
/// limit. Internally a rate is a whole number a minute, and 0 means `none`.
package enum HostRate {
  private static let none = "none"
  private static let minutesInHour = 60

  /// Reads a rate.
  ///
  /// - Returns: in ``LimitChange/hostRateRange``.
  package static func perMinute(parsing text: String) throws(InvalidValue) -> Int {
    guard text != none else { return 0 }
    try refuseTooLow(text)
    let most = LimitChange.hostRateRange.upperBound * minutesInHour
    let hourly = try UnitScale.rate.value(parsing: text, in: Int64(minutesInHour)...Int64(most))
    let (rate, rest) = Int(hourly).quotientAndRemainder(dividingBy: minutesInHour)
    guard rest == 0 else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a whole number a minute; write "
          + "\(Self.text(perMinute: rate)) or \(Self.text(perMinute: rate + 1))")
    }
    return rate
  }

  /// Refuses a rate below the range with advice, which is clearer than the bounds.
  private static func refuseTooLow(_ text: String) throws(InvalidValue) {
    let hourly = try UnitScale.rate.value(parsing: text)
    let lowest = Self.text(perMinute: 1)
    guard hourly > 0 else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) would allow no transfer; write \"\(none)\" for no limit, or "
          + "\(lowest), the lowest rate")
    }
    guard hourly >= minutesInHour else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is too low; rates are whole numbers a minute, and the lowest is "
          + "\(lowest)")
    }
  }

  /// The shortest exact text of a rate.
  package static func text(perMinute: Int) -> String {
    perMinute == 0 ? none : UnitScale.rate.text(Int64(perMinute * minutesInHour))
  }
}
