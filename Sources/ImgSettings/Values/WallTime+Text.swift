package import ImgModel

extension WallTime {
  /// Reads a date of RFC 3339: `2027-01-01T12:00:00Z`, also with an offset instead of the Z or with
  /// a fraction, which is truncated to milliseconds; or `2027-01-01` for midnight in UTC.
  ///
  /// The second 60 is refused. It is valid only for a leap second, which Unix time does not count.
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
