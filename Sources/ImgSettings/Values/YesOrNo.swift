/// Whether a setting is on, as text.
package enum YesOrNo {
  package static func value(parsing text: String) throws(InvalidValue) -> Bool {
    switch text {
    case "yes": return true
    case "no": return false
    default: throw InvalidValue("\(Spelling.quoted(text)) is not one of yes, no")
    }
  }

  package static func text(_ isOn: Bool) -> String { isOn ? "yes" : "no" }
}
