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

/// The sizes of source files, and constructs that they avoid.
struct ShapeTests {
  private static let maximumFileLineCount = 500
  private static let maximumFunctionLineCount = 70
  private static let smallFileLineCount = 60

  @Test(arguments: ["Sources", "Tests"])
  func `a file has at most 500 lines, a function at most 70`(directory: String) throws {
    for source in try Repository.swiftSources(below: directory) {
      #expect(source.lines.count <= Self.maximumFileLineCount, "\(source.path)")
      for function in source.functions {
        #expect(
          function.lineCount <= Self.maximumFunctionLineCount,
          "\(source.path):\(function.firstLine)")
      }
    }
  }

  /// A file is one concept with what only it needs. Many short files are one concept in pieces.
  @Test func `at most a tenth of a module's files has fewer than 60 lines`() throws {
    for directory in try Manifest.ours().targets.map(\.directory) {
      let sources = try Repository.swiftSources(below: directory)
      let small = sources.filter { $0.lines.count < Self.smallFileLineCount }
      // One file is as small as it has to be, such as a `main.swift`.
      #expect(small.count <= (sources.count + 9) / 10, "\(small.map(\.path))")
    }
  }

  /// Postponed work belongs in the issue tracker, not in the code.
  @Test func `no source contains TODO`() throws {
    for source in try Repository.swiftSources(below: "Sources") {
      #expect(!source.text.contains(/\b(?:TODO|FIXME|XXX)\b/), "\(source.path)")
    }
  }

  /// DocC shows such parameters as one paragraph.
  @Test(arguments: ["Sources", "Tests"])
  func `each documented parameter has a line of its own`(directory: String) throws {
    for source in try Repository.swiftSources(below: directory) {
      #expect(!source.text.contains(/\/\/\/ *- Parameters: *-/), "\(source.path)")
    }
  }

  /// Each of these turns untrusted input into a crash, or a check of the compiler into a promise.
  @Test(arguments: ["try!", "fatalError(", "nonisolated(unsafe)"])
  func `no source escapes the checks`(escape: String) throws {
    for source in try Repository.swiftSources(below: "Sources") {
      #expect(!source.code.joined(separator: "\n").contains(escape), "\(source.path)")
    }
  }

  /// With a pointer, the compiler cannot check that a type is safe to share, so a comment explains it.
  @Test func `an @unchecked Sendable type explains why in its comment`() throws {
    for source in try Repository.swiftSources(below: "Sources") {
      for (index, line) in source.code.enumerated() where line.contains("@unchecked Sendable") {
        let above = source.lines[..<index].reversed()
        let comment = above.drop { !$0.contains("///") && !$0.isEmpty }
          .prefix { $0.contains("///") }
        #expect(comment.contains { $0.contains("Sendable") }, "\(source.path):\(index + 1)")
      }
    }
  }

  /// Foundation includes the data of all languages, and FoundationNetworking includes libcurl. The example of an app whose
  /// network layer is URLSession is a package of its own.
  @Test(arguments: ["Sources", "Tests"])
  func `nothing imports the whole of Foundation`(directory: String) throws {
    for source in try Repository.swiftSources(below: directory)
    where !source.path.hasPrefix("Tests/Examples/Sources/app-network/") {
      let whole = source.imports.intersection(["Foundation", "FoundationNetworking"])
      #expect(whole.isEmpty, "\(source.path)")
    }
  }

  /// A test that sleeps is slow on a fast machine and fails on a slow one. A test's own clock defines how it
  /// waits.
  @Test func `no test sleeps`() throws {
    let testTargets = try Manifest.ours().targets.filter { $0.directory.hasSuffix("Tests") }
    for source in try testTargets.flatMap({ try Repository.swiftSources(below: $0.directory) }) {
      let code = source.code.filter { !$0.contains("func sleep(until") }.joined(separator: "\n")
      #expect(!code.contains(/\b(?:u|nano)?sleep\(/), "\(source.path)")
    }
  }
}
