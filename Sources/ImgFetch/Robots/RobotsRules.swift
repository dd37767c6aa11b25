import ImgModel

/// What a robots.txt allows this program (RFC 9309).
package struct RobotsRules: Sendable {
  private struct Rule: Hashable {
    let isAllowance: Bool
    /// As it was written.
    let path: String
    let glob: Glob
    /// The greatest of the rules that match is the most specific one.
    let byteCount: Int
  }

  /// The most specific first; of equals, allowances first (RFC 9309 section 2.2.2).
  private let rules: [Rule]

  /// How much of a file counts (RFC 9309 section 2.5).
  package static let maximumByteCount = 500 << 10
  /// The name of this program in a file (RFC 9309 section 2.2.1).
  static let productToken = "imgctl"

  /// What a verdict may cost, some milliseconds: the whole worker waits for it.
  private static let maximumStepCount = 2_000_000

  /// Everything is allowed.
  package static let none = RobotsRules(parsing: [])

  /// Reads a file. Lines that are no rules are skipped, so every file is accepted.
  package init(parsing file: [UInt8]) {
    var part = file.prefix(Self.maximumByteCount)
    // A line that is cut would be another rule.
    if part.count < file.count {
      part = part.prefix(upTo: part.lastIndex { $0 == 0x0A || $0 == 0x0D } ?? 0)
    }
    self.init(RobotsGroups(parsing: part))
  }

  /// - Parameter text: see ``text``.
  package init(remembered text: String) {
    self.init(RobotsGroups(parsing: Array(text.utf8)[...]))
  }

  private init(_ groups: RobotsGroups) {
    let lines = groups.lines(for: Self.productToken) ?? groups.lines(for: "*") ?? []
    rules = lines.map(Self.rule).sorted {
      $0.byteCount != $1.byteCount
        ? $0.byteCount > $1.byteCount : $0.isAllowance && !$1.isAllowance
    }
  }

  /// A file that says the same to this program, and nothing to others.
  package var text: String {
    "User-agent: \(Self.productToken)\n"
      + rules.map { "\($0.isAllowance ? "Allow" : "Disallow"): \($0.path)\n" }.joined()
  }

  /// Whether a target may be fetched.
  ///
  /// - Parameter target: path and query, as they are sent to the origin.
  package func permits(target: String) -> Bool {
    // Every escape stands for its byte, so that one spelling of each character is left, whether or
    // not it is reserved (RFC 9309 section 2.2.2).
    let bytes = PercentEncoding.decoded(target.utf8)
    if bytes == Array("/robots.txt".utf8) { return true }
    var steps = Self.maximumStepCount
    for rule in rules {
      // Rules that take too long to match close the origin.
      guard let isMatch = rule.glob.matches(bytes, within: &steps) else { return false }
      if isMatch { return rule.isAllowance }
    }
    return true
  }

  /// `*` stands for any bytes and a `$` at the end for the end; their escapes stand for the
  /// characters themselves (RFC 9309 section 2.2.3).
  private static func rule(_ line: RobotsGroups.Line) -> Rule {
    let isWhole = line.path.utf8.last == UInt8(ascii: "$")
    let path = line.path.utf8.dropLast(isWhole ? 1 : 0)
    let parts = path.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
    var tokens: [UInt8?] = []
    for part in parts { tokens += [nil] + PercentEncoding.decoded(part) }
    tokens.removeFirst()
    return Rule(
      isAllowance: line.isAllowance, path: line.path,
      glob: Glob(isWhole ? tokens : tokens + [nil]),
      byteCount: tokens.count + (isWhole ? 1 : 0))
  }
}
