import ImgModel

/// What an origin says of how its answer may be used: the header field `X-Robots-Tag`, one or many a
/// head. It has no standard; this reads it as its inventors write it
/// (developers.google.com/search/docs/crawling-indexing/robots-meta-tag).
///
/// A field is a list of directives. Those behind the name of an agent and a colon are for that agent
/// alone, up to the next name; a directive with a value, such as `unavailable_after: DATE`, is
/// written alike and told by its name.
enum RobotsTag {
  /// By which an answer is not to be used; `none` is short for `noindex, nofollow`.
  private static let refusals: Set = ["noai", "noimageai", "noindex", "noimageindex", "none"]
  private static let directivesWithValue: Set = [
    "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
  ]

  /// The first directive that keeps this program from using the answer; `nil` when there is none.
  static func optOut(in value: String) -> String? {
    var isForUs = true
    for element in value.lowercased().utf8.split(separator: UInt8(ascii: ",")) {
      let parts = element.split(
        separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false
      ).map { String(decoding: $0.withoutOuterWhiteSpace, as: UTF8.self) }
      if parts.count == 2 {
        // A comma of a date may make any text stand before a colon; only a name is an agent.
        guard isAgentName(parts[0]), !directivesWithValue.contains(parts[0]) else { continue }
        isForUs = parts[0] == RobotsRules.productToken || parts[0] == "*"
      }
      if isForUs, let directive = parts.last, refusals.contains(directive) { return directive }
    }
    return nil
  }

  private static func isAgentName(_ text: String) -> Bool {
    !text.isEmpty && !text.utf8.contains { $0 <= 0x20 }
  }
}
