import ImgModel

/// The header field `X-Robots-Tag`: how an origin allows its response to be used. It has no
/// standard; this reads it as its inventors write it
/// (developers.google.com/search/docs/crawling-indexing/robots-meta-tag).
///
/// A field is a list of directives. Those after the name of an agent and a colon are for that agent
/// alone, up to the next name. A directive with a value, such as `unavailable_after: DATE`, looks
/// alike and is recognised by its name.
enum RobotsTag {
  /// Directives that forbid the use; `none` is short for `noindex, nofollow`.
  private static let optOuts: Set = ["noai", "noimageai", "noindex", "noimageindex", "none"]
  private static let directivesWithValue: Set = [
    "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
  ]

  /// The first directive that forbids this program the use; `nil` when there is none.
  ///
  /// - Parameter value: of one field line. An agent's name counts up to the end of its line.
  static func optOut(in value: String) -> String? {
    var isForUs = true
    for member in FieldList.members(of: value.lowercased()) {
      let parts = member.utf8.split(
        separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false
      ).map { String(decoding: $0.withoutOuterWhiteSpace, as: UTF8.self) }
      if parts.count == 2 {
        // The comma of a date puts any text before a colon; only a name is an agent.
        guard isAgentName(parts[0]), !directivesWithValue.contains(parts[0]) else { continue }
        isForUs = parts[0] == RobotsRules.productToken || parts[0] == "*"
      }
      if isForUs, let directive = parts.last, optOuts.contains(directive) { return directive }
    }
    return nil
  }

  private static func isAgentName(_ text: String) -> Bool {
    !text.isEmpty && !text.utf8.contains { $0 <= 0x20 }
  }
}
