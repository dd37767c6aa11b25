import ImgStore

/// A record or an index entry of the store that is damaged or contradicts others. Its description is a
/// line for people.
package struct CacheDefect: Sendable, Encodable, CustomStringConvertible {
  private let defect: StoreDefect

  init(_ defect: StoreDefect) {
    self.defect = defect
  }

  package var description: String { "\(defect)" }

  package func encode(to encoder: any Encoder) throws {
    try defect.encode(to: encoder)
  }
}
