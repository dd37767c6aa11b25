/// What a complete answer says of its reuse.
package struct AnswerReuse: Hashable, Sendable {
  package let terms: ReuseTerms
  /// Whether the origin permits it to be stored.
  package let isStorable: Bool

  package init(terms: ReuseTerms, isStorable: Bool) {
    self.terms = terms
    self.isStorable = isStorable
  }
}
