import ImgModel

extension AnswerReuse {
  init(_ freshness: Freshness, wasRedirected: Bool) {
    self.init(
      terms: wasRedirected ? freshness.terms.behindRedirect : freshness.terms,
      isStorable: freshness.isStorable)
  }
}

extension ReuseTerms {
  /// A picture is fresh for as long as every response that led to it. Redirects seldom say how long
  /// that is, so a picture behind a redirect is revalidated each time.
  var behindRedirect: ReuseTerms {
    ReuseTerms(
      freshUntil: .distantPast, staleWhileRevalidateUntil: .distantPast,
      staleIfErrorUntil: staleIfErrorUntil, fields: fields)
  }
}
