import ImgHTTP
import ImgModel

/// The conditions of a request (RFC 9110, section 13).
struct Conditions {
  /// What a client gets of the representation.
  enum Outcome {
    case representation
    /// The client has it already.
    case notModified
    /// The client wants another one, such as the rest of one that it has a part of.
    case preconditionFailed
  }

  private let match: String?
  private let unmodifiedSince: String?
  private let noneMatch: String?
  private let modifiedSince: String?

  init(_ fields: HTTPFields) {
    match = fields["If-Match"]
    unmodifiedSince = fields["If-Unmodified-Since"]
    noneMatch = fields["If-None-Match"]
    modifiedSince = fields["If-Modified-Since"]
  }

  /// Whether the request has none.
  var isEmpty: Bool {
    match == nil && unmodifiedSince == nil && noneMatch == nil && modifiedSince == nil
  }

  /// Entity tags count before dates (section 13.2.2).
  ///
  /// - Parameters:
  ///   - tag: a strong validator.
  ///   - modifiedAt: `nil` if the time is not known.
  func outcome(tag: String, modifiedAt: WallTime?, at now: WallTime) -> Outcome {
    if let match {
      guard EntityTags(match).containStrongly(tag) else { return .preconditionFailed }
    } else if let unmodifiedSince, Self.wasModified(modifiedAt, after: unmodifiedSince, now) == true
    {
      return .preconditionFailed
    }
    if let noneMatch {
      return EntityTags(noneMatch).contain(tag) ? .notModified : .representation
    }
    if let modifiedSince, Self.wasModified(modifiedAt, after: modifiedSince, now) == false {
      return .notModified
    }
    return .representation
  }

  /// - Returns: `nil` if a time is not known, or the field is no date.
  private static func wasModified(
    _ moment: WallTime?, after field: String, _ now: WallTime
  ) -> Bool? {
    guard let moment, let date = HTTPDate(field, now: now) else { return nil }
    return HTTPDate(moment).moment > date.moment
  }
}

extension HTTPResponse {
  /// The answer to conditions that do not hold.
  static var preconditionFailed: HTTPResponse {
    FailureReport(
      RequestRejection(
        .preconditionFailed, code: "precondition_failed",
        "what is there is not what If-Match or If-Unmodified-Since names")
    ).response()
  }
}

/// The entity tags of a field `If-Match` or `If-None-Match` (RFC 9110, sections 13.1.1 and 13.1.2).
struct EntityTags {
  private let tags: [Substring]

  /// - Parameter field: the value of the field.
  init(_ field: String) {
    tags = field.split(separator: ",").map { tag in
      let isSpace = { (character: Character) in character == " " || character == "\t" }
      let start = tag.drop(while: isSpace)
      return start[
        ..<(start.lastIndex { !isSpace($0) }.map(start.index(after:)) ?? start.startIndex)]
    }
  }

  /// Whether one is that of a representation. The comparison is weak (section 8.8.3.2).
  ///
  /// - Parameter tag: strong, with its quotation marks.
  func contain(_ tag: String) -> Bool {
    tags.contains { $0 == "*" || ($0.hasPrefix("W/") ? $0.dropFirst(2) : $0) == tag }
  }

  /// The same with the strong comparison, which no weak tag passes.
  func containStrongly(_ tag: String) -> Bool {
    tags.contains { $0 == "*" || $0 == tag }
  }
}
