import ImgModel
import ImgSettings
import Testing

/// Who origins are told that asks.
@Suite(.timeLimit(.minutes(20))) struct ContactTests {
  private func limits(_ contact: String?) throws -> Limits {
    let arguments = contact.map { ["--contact", $0] } ?? []
    guard
      case .run(let settings) = try CoordinatorInvocation(
        arguments: arguments, environment: ["HOME": "/home/ada"], userID: 1)
    else { throw UsageError("prints") }
    return settings.limits
  }

  @Test(arguments: [
    "ada@example.org", "a.d+a@ex-ample.co", "ada@localhost", "https://example.org/bot?a=b",
    "http://example.org",
  ])
  func `a contact is part of the User-Agent and of the table of limits`(contact: String) throws {
    let limits = try limits(contact)
    var settings = Settings(socketPath: "", dataDirectory: "")
    settings.limits = limits
    #expect(limits.userAgent == "imgctl/\(Build.version) (+\(contact))")
    #expect(Setting.rows(of: settings).contains { $0.flag == "--contact" && $0.value == contact })
  }

  @Test func `without a contact, the User-Agent has only name and version`() throws {
    for limits in [try limits(nil), try limits("none")] {
      var settings = Settings(socketPath: "", dataDirectory: "")
      settings.limits = limits
      #expect(limits.userAgent == "imgctl/\(Build.version)")
      #expect(Setting.rows(of: settings).contains { $0.flag == "--contact" && $0.value == "none" })
    }
  }

  @Test(arguments: [
    "ada", "@example.org", "ada@", "ada@a@b", "ada@example..org", "ada lovelace@example.org",
    "ada@example.org)", "https://example.org/(a)", "https://example.org/a\\b", "ftp://example.org",
    "data:,a", "ada@example.org\r\nX: y", "ä@example.org",
    "https://example.org/\(String(repeating: "a", count: 200))",
  ])
  func `a contact that is neither a mail address nor a URL is refused`(text: String) {
    #expect(throws: UsageError.self) { try limits(text) }
  }
}
