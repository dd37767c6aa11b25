import Testing

/// The vocabulary of the project: one word for each thing. The glossary and the field's standards
/// define the words; these are former ones.
struct VocabularyTests {
  /// In lower case. A word is a run of letters, so an identifier counts as one word.
  private static let retiredWords: Set<String> = [
    "anew", "anybody", "asksorigin", "attachments", "begananew", "bothered",
    "carryout", "condemnation", "farewell", "giveback", "giveturn", "giveup", "glance", "goanew",
    "gonebodies", "handedin", "handin", "hitonly", "imgprove", "lastwords", "leastwish", "lend",
    "lent", "letgo", "noting", "quarantine", "quarantined", "ratewindow", "rider", "riders",
    "scout", "scouted", "scouting", "scouts", "servant", "setaside", "slotstate", "somebody",
    "storeproof", "strangers", "takeinhand", "trouble", "unjudged", "unstored", "untold",
    "usesfile", "wallclock", "whoever", "windowlinecount", "wished",
  ]

  @Test(arguments: ["Sources", "Tests"])
  func `no file uses a retired word`(directory: String) throws {
    let paths = try [".swift", ".md", ".tutorial", ".h"].flatMap {
      try Repository.files(below: directory, suffix: $0)
    }
    for path in paths where !path.hasSuffix("/VocabularyTests.swift") {
      try expectNoRetiredWords(in: path)
    }
  }

  @Test(arguments: ["README.md", "CHANGELOG.md"])
  func `no page uses a retired word`(path: String) throws {
    try expectNoRetiredWords(in: path)
  }

  private func expectNoRetiredWords(in path: String) throws {
    let lines = try Repository.text(path).split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      for word in Self.words(in: line) where Self.retiredWords.contains(word) {
        Issue.record("\(path):\(index + 1): retired word \"\(word)\"")
      }
    }
  }

  /// The words of a line in lower case.
  private static func words(in line: Substring) -> [String] {
    line.utf8.split { !(0x41...0x5A).contains($0 & 0xDF) }.map { word in
      String(decoding: word.map { $0 | 0x20 }, as: UTF8.self)
    }
  }

  @Test func `a word is a run of letters`() {
    #expect(
      Self.words(in: "a setAside(x_lend) 12noting") == ["a", "setaside", "x", "lend", "noting"])
  }
}
