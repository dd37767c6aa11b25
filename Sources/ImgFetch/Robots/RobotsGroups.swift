import ImgModel

/// A robots.txt as it is written: the agents that it names, and the rules for them (RFC 9309
/// section 2.2).
struct RobotsGroups {
  struct Line {
    let isAllowance: Bool
    let path: String
  }

  /// By product token in lower case or `*`; groups for one token are one (RFC 9309 section 2.2.1).
  private var linesOfAgent: [String: [Line]] = [:]

  /// - Returns: `nil` when the file does not name the agent.
  func lines(for agent: String) -> [Line]? { linesOfAgent[agent] }

  init(parsing file: ArraySlice<UInt8>) {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = file.starts(with: byteOrderMark) ? file.dropFirst(byteOrderMark.count) : file
    var agents: [String] = []
    var hasRules = false
    // An empty line means nothing, so CR and LF may each end a line.
    for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      guard let (key, value) = Self.record(line) else { continue }
      switch key {
      case "user-agent":
        if hasRules { agents = [] }
        hasRules = false
        guard let agent = Self.agent(value) else { continue }
        agents.append(agent)
        linesOfAgent[agent, default: []] += []
      case "allow", "disallow":
        hasRules = true
        // A rule without a path does not count.
        guard !value.isEmpty else { continue }
        let rule = Line(isAllowance: key == "allow", path: value)
        for agent in Set(agents) { linesOfAgent[agent, default: []].append(rule) }
      default: break
      }
    }
  }

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
