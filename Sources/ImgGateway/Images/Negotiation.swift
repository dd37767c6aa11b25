package import ImgClient
import ImgHTTP
import ImgModel

/// What a client accepts, from its field `Accept` (RFC 9110, section 12.5.1).
package struct AcceptedFormats: Hashable, Sendable {
  private struct MediaRange: Hashable, Sendable {
    /// In lower case, such as `image/webp`, `image/*` or `*/*`.
    let name: String
    /// In thousandths, from 0 to 1,000.
    let quality: Int
  }

  private let ranges: [MediaRange]

  /// Later ranges do not count. Browsers send about ten.
  private static let maximumCount = 64
  private static let fullQuality = 1_000

  /// - Parameter field: the value of `Accept`; `nil` without the field, which accepts everything. Parts that
  ///   cannot be read do not count.
  package init(_ field: String?) {
    ranges = (field ?? "*/*").split(separator: ",", maxSplits: Self.maximumCount)
      .prefix(Self.maximumCount).compactMap(Self.range)
  }

  /// The format of an answer whose format is negotiated.
  ///
  /// AVIF and WebP count only if the client names them: many clients accept `*/*` and decode neither. Of
  /// formats that are equally welcome, AVIF goes before WebP, and WebP before the others. Those are JPEG, PNG for
  /// transparent pictures, and GIF for animations, which every client decodes. Where a picture may keep more than
  /// 8 bits a sample, PNG takes the place of WebP and JPEG, also for clients that do not name it.
  ///
  /// - Returns: `nil` for a query whose format is fixed; the format of the variant's own is the answer then.
  package func format(for query: ImageQuery) -> ImageVariant.Format? {
    guard query.format == .negotiated else { return nil }
    let variant = query.request.variant
    let isAnimated = variant.frames == .all
    let candidates: [ImageVariant.Format] = (isAnimated ? [.webp] : [.avif, .webp])
      .filter { variant.depth == .eight || $0.holdsWideSamples }
    let named = candidates.map { (format: $0, quality: namedQuality("image/\($0.rawValue)")) }
    let (png, jpeg) = (quality("image/png"), quality("image/jpeg"))
    let other = isAnimated ? quality("image/gif") : jpeg
    // The first of the largest ones.
    let best = named.reduce((format: .auto, quality: 0)) { $1.quality > $0.quality ? $1 : $0 }
    if best.quality > 0, best.quality >= other { return best.format }
    let webp = namedQuality("image/webp")
    if isAnimated { return webp > 0 ? .webp : .gif }
    if jpeg == 0, png > 0 { return .png }
    if png == 0, jpeg > 0, webp == 0, variant.depth == .eight { return .jpeg }
    // The automatic format is WebP for transparent pictures.
    return webp > 0 && webp >= png ? .auto : .compatible
  }

  /// The quality of a type by the most specific range that matches it.
  private func quality(_ type: String) -> Int {
    for name in [type, "image/*", "*/*"] {
      if let range = ranges.first(where: { $0.name == name }) { return range.quality }
    }
    return 0
  }

  /// The quality of a type by its own name.
  private func namedQuality(_ type: String) -> Int {
    ranges.first { $0.name == type }?.quality ?? 0
  }

  private static func range(_ text: Substring) -> MediaRange? {
    var parts = text.split(separator: ";").map {
      $0.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
    guard let name = parts.first, name.contains("/") else { return nil }
    parts.removeFirst()
    guard let weight = parts.first(where: { $0.hasPrefix("q=") }) else {
      return MediaRange(name: name, quality: fullQuality)
    }
    return thousandths(weight.dropFirst(2)).map { MediaRange(name: name, quality: $0) }
  }

  /// Reads a weight (RFC 9110, section 12.4.2): 0 to 1 with at most three decimals.
  private static func thousandths(_ text: Substring) -> Int? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let decimals = parts.count == 2 ? parts[1] : ""
    guard ["0", "1"].contains(parts[0]), decimals.utf8.count <= 3,
      decimals.utf8.allSatisfy(\.isDigit),
      let number = Int(
        parts[0] + decimals + String(repeating: "0", count: 3 - decimals.utf8.count)),
      number <= fullQuality
    else { return nil }
    return number
  }
}

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
