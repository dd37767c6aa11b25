package import ImgModel

/// A robots.txt as it is written: the agents that it names, and the rules for them (RFC 9309
/// section 2.2).
struct RobotsGroups {
  struct Line {
    let isAllowance: Bool
    let path: String
  }

  /// By product token in lower case or `*`; groups for one token are one (RFC 9309 section 2.2.1).
  private var linesOfAgent: [String: [Line]] = [:]
  /// The longest for each agent.
  private var delayOfAgent: [String: Duration] = [:]

  /// - Returns: `nil` when the file does not name the agent.
  func lines(for agent: String) -> [Line]? { linesOfAgent[agent] }

  func crawlDelay(for agent: String) -> Duration? { delayOfAgent[agent] }

  init(parsing file: ArraySlice<UInt8>) {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = file.starts(with: byteOrderMark) ? file.dropFirst(byteOrderMark.count) : file
    var agents: [String] = []
    var hasRules = false
    // A line of delay ends a group, too, for further delays: it may be all that the group has.
    var delayedAgents: [String] = []
    var hasDelay = false
    // An empty line means nothing, so CR and LF may each end a line.
    for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      guard let (key, value) = Self.record(line) else { continue }
      switch key {
      case "user-agent":
        if hasRules { agents = [] }
        if hasRules || hasDelay { delayedAgents = [] }
        hasRules = false
        hasDelay = false
        guard let agent = Self.agent(value) else { continue }
        agents.append(agent)
        delayedAgents.append(agent)
        linesOfAgent[agent, default: []] += []
      case "allow", "disallow":
        hasRules = true
        // A rule without a path does not count.
        guard !value.isEmpty else { continue }
        let rule = Line(isAllowance: key == "allow", path: value)
        for agent in Set(agents) { linesOfAgent[agent, default: []].append(rule) }
      case "crawl-delay":
        hasDelay = true
        guard let delay = Self.delay(value) else { continue }
        for agent in delayedAgents {
          delayOfAgent[agent] = max(delay, delayOfAgent[agent] ?? delay)
        }
      default: break
      }
    }
  }

  /// A number of seconds as decimal digits, with a point or without; `nil` for any other text, and for 0.
  private static func delay(_ text: String) -> Duration? {
    let isNumber = text.utf8.allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".")
    }
    guard isNumber, let seconds = Double(text), seconds > 0 else { return nil }
    return .milliseconds(Int64(min(seconds, maximumSeconds) * 1_000))
  }

  /// Far more than any request waits.
  private static let maximumSeconds = 86_400.0

  /// The text before and after the colon, without comment and white space.
  private static func record(_ line: ArraySlice<UInt8>) -> (key: String, value: String)? {
    let content = line.prefix { $0 != UInt8(ascii: "#") }
    guard let colon = content.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    return (text(content[..<colon]).lowercased(), text(content[(colon + 1)...]))
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.withoutOuterWhiteSpace, as: UTF8.self)
  }

  /// The product token at the start of the text, in lower case; a version after it does not count.
  private static func agent(_ text: String) -> String? {
    if text == "*" || text.hasPrefix("* ") { return "*" }
    let token = text.lowercased().utf8.prefix { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || "_-".utf8.contains(byte)
    }
    return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
  }
}

extension RobotsRules {
  /// Whether the URL may be fetched. The parser that fetches the URL reads it: it takes `/a/../b`
  /// for `/b`.
  ///
  /// - Throws: a ``Failure`` when that parser refuses the URL.
  package func permits(_ url: ImageURL) throws(Failure) -> Bool {
    permits(target: try ParsedURL(url).target)
  }
}

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
  /// The time between two requests that the origin asks for. RFC 9309 leaves such records to each crawler; its
  /// groups hold for this one, too.
  package let crawlDelay: Duration?

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
    let agent = groups.lines(for: Self.productToken) == nil ? "*" : Self.productToken
    crawlDelay = groups.crawlDelay(for: agent)
    rules = (groups.lines(for: agent) ?? []).map(Self.rule).sorted {
      $0.byteCount != $1.byteCount
        ? $0.byteCount > $1.byteCount : $0.isAllowance && !$1.isAllowance
    }
  }

  /// A file that says the same to this program, and nothing to others.
  package var text: String {
    "User-agent: \(Self.productToken)\n"
      + (crawlDelay.map { "Crawl-delay: \(Double($0.milliseconds) / 1_000)\n" } ?? "")
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
