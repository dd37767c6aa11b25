/// Why a text is not a value of the kind that is wanted: the end of a sentence that begins with the
/// name of the flag or variable it was given for.
package struct InvalidValue: Error, Hashable, Sendable {
  package let reason: String

  package init(_ reason: String) {
    self.reason = reason
  }
}
