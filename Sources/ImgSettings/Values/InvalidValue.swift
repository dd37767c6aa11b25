/// Why a text is not a valid value: the end of a sentence that begins with the name of the flag or
/// variable.
package struct InvalidValue: Error, Hashable, Sendable {
  package let reason: String

  package init(_ reason: String) {
    self.reason = reason
  }
}
