extension ListQuery {
  /// The target that asks for the page.
  var target: String {
    var fields = ["page=\(page)", "limit=\(limit)"]
    if let job { fields.append("job=\(job)") }
    if let text { fields.append("q=\(EscapedText.encoded(text))") }
    if let outcome { fields.append("outcome=\(outcome.rawValue)") }
    if let code { fields.append("code=\(EscapedText.encoded(code))") }
    switch after {
    case .line(let index): fields.append("after=\(index)")
    case .record(let id): fields.append("after=\(id)")
    case nil: break
    }
    return "/v2/list?\(fields.joined(separator: "&"))"
  }

  /// The page after this one, which begins behind a position.
  func next(after position: Position?) -> ListQuery {
    var query = self
    query.page = min(page + 1, Self.maximumPage)
    query.after = position
    return query
  }

  /// The page before this one; `nil` for the first one.
  var previous: ListQuery? {
    guard page > 1 else { return nil }
    var query = self
    query.page = page - 1
    query.after = nil
    return query
  }

  /// The entries before the page, if it is found by its number.
  var skippedCount: Int { after == nil ? (page - 1) * limit : 0 }
}
