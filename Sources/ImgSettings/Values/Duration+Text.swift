import ImgModel

extension Duration {
  /// Reads a text of ``UnitScale/duration`` with a value in `range`.
  package init(parsing text: String, in range: ClosedRange<Duration>) throws(InvalidValue) {
    self = .milliseconds(try UnitScale.duration.value(parsing: text, in: range.milliseconds))
  }

  /// The text that ``init(parsing:in:)`` reads, such as `90s`.
  ///
  /// - Precondition: the duration is not negative.
  package var text: String { UnitScale.duration.text(milliseconds) }
}
