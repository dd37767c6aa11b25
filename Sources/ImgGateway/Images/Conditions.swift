import ImgHTTP
import ImgModel

/// The conditions of a request (RFC 9110, section 13).
struct Conditions {
  /// What a client gets of the image.
  enum Outcome {
    case image
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
  func outcome(for image: PreparedImage, at now: WallTime) -> Outcome {
    if let match {
      guard EntityTags(match).containStrongly(image.entityTag) else { return .preconditionFailed }
    } else if isOlder(image, than: unmodifiedSince, at: now) == false {
      return .preconditionFailed
    }
    if let noneMatch {
      return EntityTags(noneMatch).contain(image.entityTag) ? .notModified : .image
    }
    return isOlder(image, than: modifiedSince, at: now) == true ? .notModified : .image
  }

  /// Whether an image was stored at a date or before; `nil` if either is not known.
  private func isOlder(_ image: PreparedImage, than field: String?, at now: WallTime) -> Bool? {
    guard let field, let storedAt = image.storedAt, let date = HTTPDate(field, now: now) else {
      return nil
    }
    return HTTPDate(storedAt).moment <= date.moment
  }
}
