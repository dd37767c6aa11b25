import ImgModel

/// How many transfers may begin at one host in a time, as people write it: `5/s`, `30/m`, `120/h`,
/// or `none` for any number. Inside there are whole numbers a minute only, where 0 is `none`.
package enum HostRate {
  private static let none = "none"
  private static let minutesInHour = 60

  /// Reads a rate.
  ///
  /// - Returns: in ``LimitChange/hostRateRange``.
  package static func perMinute(parsing text: String) throws(InvalidValue) -> Int {
    guard text != none else { return 0 }
    try refuseTooGentle(text)
    let most = LimitChange.hostRateRange.upperBound * minutesInHour
    let hourly = try UnitScale.rate.value(parsing: text, in: Int64(minutesInHour)...Int64(most))
    let (rate, rest) = Int(hourly).quotientAndRemainder(dividingBy: minutesInHour)
    guard rest == 0 else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is no whole number a minute; write \(Self.text(perMinute: rate)) "
          + "or \(Self.text(perMinute: rate + 1))")
    }
    return rate
  }

  /// Says of what is below the range what to write instead: nobody who writes so means what the
  /// bounds alone would tell.
  private static func refuseTooGentle(_ text: String) throws(InvalidValue) {
    let hourly = try UnitScale.rate.value(parsing: text)
    let gentlest = Self.text(perMinute: 1)
    guard hourly > 0 else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) lets nothing begin; write \"\(none)\" for any number, or "
          + "\(gentlest), the gentlest rate")
    }
    guard hourly >= minutesInHour else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is too gentle; rates are whole numbers a minute, and the gentlest "
          + "is \(gentlest)")
    }
  }

  /// The shortest text that reads as exactly this rate.
  package static func text(perMinute: Int) -> String {
    perMinute == 0 ? none : UnitScale.rate.text(Int64(perMinute * minutesInHour))
  }
}
