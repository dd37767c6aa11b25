package import ImgModel

extension WallTime {
  /// Reads a date as RFC 3339 writes it: `2027-01-01T12:00:00Z`, with an offset in place of the Z,
  /// with a fraction of which whole milliseconds count, or `2027-01-01` for that day's beginning in
  /// UTC.
  ///
  /// A second 60 is refused: it is legal only where a leap second was announced, which a clock of
  /// seconds since 1970 does not count.
  package init(parsing text: String) throws(InvalidValue) {
    var reader = DateReader(text)
    guard let moment = reader.readMoment() else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a date; write one such as 2027-01-01, "
          + "2027-01-01T12:00:00Z or 2027-01-01T12:00:00+02:00")
    }
    self = moment
  }
}
