package import ImgClient

/// What a client asks of `/v2/list`: a page of the lines of a job, or of the thumbnails of the store.
package struct ListQuery: Hashable, Sendable {
  /// What came of a line.
  package enum Outcome: String, Hashable, Sendable, CaseIterable {
    case done, failed
  }

  /// Where a page begins.
  package enum Position: Hashable, Sendable {
    /// After a line of the job, counted from 0.
    case line(Int)
    /// After a record of the store.
    case record(CacheRecord.ID)
  }

  /// From 1.
  package var page = 1
  /// The maximum number of entries.
  package var limit = Self.standardLimit
  /// `nil` for the store.
  package var job: ImageJob.ID?
  /// A part of the URL; letters of ASCII are equal in either case. `nil` for all URLs.
  package var text: String?
  /// `nil` for all.
  package var outcome: Outcome?
  /// The code of a failure; `nil` for all.
  package var code: String?
  /// `nil` for a page that is found by its number.
  package var after: Position?

  package static let standardLimit = 30
  package static let maximumLimit = 100
  /// No list is longer than the lines of this page.
  package static let maximumPage = 1_000_000_000
  package static let maximumTextByteCount = 128

  package init() {}

  /// Reads the parameters as Picsum does: a page and a limit that are none are the defaults. Whatever picks
  /// entries is refused if it is wrong, because another list would be the answer. Other parameters are
  /// ignored.
  ///
  /// - Throws: 422.
  package init(_ parameters: QueryParameters) throws(RequestRejection) {
    page = min(max(Self.number(parameters["page"]) ?? 1, 1), Self.maximumPage)
    limit = min(Self.number(parameters["limit"]) ?? Self.standardLimit, Self.maximumLimit)
    if limit < 1 { limit = Self.standardLimit }
    job = try Self.value("job", in: parameters).map(Self.job)
    text = try Self.value("q", in: parameters).map(Self.text)
    outcome = try Self.value("outcome", in: parameters).map(Self.outcome)
    code = try Self.value("code", in: parameters).map(Self.code)
    after = try Self.value("after", in: parameters).map { value throws(RequestRejection) in
      try Self.position(value, ofJob: job != nil)
    }
    guard job != nil || (outcome == nil && code == nil) else {
      throw .invalidOption(
        outcome == nil ? "code" : "outcome", "picks lines of a job; add job=ID, or leave it out")
    }
  }

  private static func number(_ text: String?) -> Int? {
    text.flatMap { Int($0) }
  }

  /// `nil` for an empty value, too, as a form sends it.
  private static func value(_ name: String, in parameters: QueryParameters) -> OptionValue? {
    parameters[name].flatMap { $0.isEmpty ? nil : OptionValue(name: name, text: $0) }
  }

  private static func job(_ value: OptionValue) throws(RequestRejection) -> ImageJob.ID {
    guard let id = UInt64(value.text), id > 0 else { throw value.invalid("the number of a job") }
    return id
  }

  private static func text(_ value: OptionValue) throws(RequestRejection) -> String {
    guard value.text.utf8.count <= maximumTextByteCount else {
      throw .invalidOption(value.name, "has more than \(maximumTextByteCount) bytes; shorten it")
    }
    return value.text
  }

  private static func outcome(_ value: OptionValue) throws(RequestRejection) -> Outcome {
    guard let outcome = Outcome(rawValue: value.text) else { throw value.invalid("done or failed") }
    return outcome
  }

  private static func code(_ value: OptionValue) throws(RequestRejection) -> String {
    guard value.text.utf8.count <= maximumTextByteCount else {
      throw value.invalid("the code of a failure, such as http_status")
    }
    return value.text
  }

  private static func position(
    _ value: OptionValue, ofJob isJob: Bool
  ) throws(RequestRejection) -> Position {
    if isJob { return .line(try value.wholeNumber(in: 0...Int.max - 1)) }
    guard case .record(let id) = PictureID(value.text) else {
      throw value.invalid("the id of a record, as the link to the next page has it")
    }
    return .record(id)
  }
}
