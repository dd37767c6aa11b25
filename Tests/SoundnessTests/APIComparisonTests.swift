import APIComparison
import FoundationEssentials
import Testing

/// What a change of the public declarations means for programs that use them.
struct APIComparisonTests {
  /// The library that programs use, one declaration a line.
  private static let former = """
    Client | class Client
    Client | conforms to Hashable
    Client | conforms to Sendable
    Client.count | var count: Int { get }
    Client.image(for:) | func image(for url: String) -> Image
    Client.put(_:) | func put(_ image: Image)
    Mode | enum Mode
    Mode.fill | case fill
    Mode.fit | case fit
    Origin | @nonexhaustive enum Origin
    Origin.store | case store
    Source | protocol Source
    Source.load() | requirement: func load() -> Image
    Source.stop() | requirement with a default: func stop()
    """

  /// - Parameters:
  ///   - line: of the library above.
  ///   - replacement: what the line becomes; `nil` removes it.
  private func comparison(replacing line: String, with replacement: String?) -> APIComparison {
    let lines = Self.former.split(separator: "\n").map(String.init)
    let changed = lines.compactMap { $0 == line ? replacement : $0 }
    #expect(lines.contains(line))
    return APIComparison(
      from: PublicAPI(text: Self.former), to: PublicAPI(text: changed.joined(separator: "\n")))
  }

  private func comparison(adding line: String) -> APIComparison {
    APIComparison(
      from: PublicAPI(text: Self.former), to: PublicAPI(text: Self.former + "\n" + line))
  }

  @Test func `equal libraries differ in nothing`() {
    let api = PublicAPI(text: Self.former)
    #expect(APIComparison(from: api, to: api).isEmpty)
    #expect(PublicAPI(text: api.text) == api)
  }

  @Test(
    arguments: [
      (
        "Client.image(for:) | func image(for url: String) -> Image", nil,
        "Client.image(for:) was removed: `func image(for url: String) -> Image`"
      ),
      (
        "Client.image(for:) | func image(for url: String) -> Image",
        "Client.picture(for:) | func picture(for url: String) -> Image",
        "Client.image(for:) was renamed to Client.picture(for:)"
      ),
      (
        "Client.put(_:) | func put(_ image: Image)", "Client.put(_:) | func put(_ image: Data)",
        "Client.put(_:) was changed from `func put(_ image: Image)` to `func put(_ image: Data)`"
      ),
      ("Mode.fit | case fit", nil, "Mode.fit was removed: `case fit`"),
      ("Client | conforms to Hashable", nil, "Client no longer conforms to Hashable"),
      (
        "Source.stop() | requirement with a default: func stop()",
        "Source.stop() | requirement: func stop()",
        "Source.stop() was changed from `requirement with a default: func stop()` to "
          + "`requirement: func stop()`"
      ),
    ] as [(String, String?, String)])
  func `a removal, a new name and a new type break programs`(
    line: String, replacement: String?, sentence: String
  ) {
    let comparison = comparison(replacing: line, with: replacement)
    #expect(comparison.breakingChanges == [sentence])
    #expect(comparison.additions == [])
  }

  @Test func `a function with another parameter is another function`() {
    let comparison = comparison(
      replacing: "Client.put(_:) | func put(_ image: Image)",
      with: "Client.put(_:for:) | func put(_ image: Image, for url: String)")
    #expect(
      comparison.breakingChanges == ["Client.put(_:) was removed: `func put(_ image: Image)`"])
    #expect(
      comparison.additions == [
        "Client.put(_:for:) was added: `func put(_ image: Image, for url: String)`"
      ])
  }

  @Test func `a removed type is named once, without its members`() {
    let rest = Self.former.split(separator: "\n").filter { !$0.hasPrefix("Client") }
    let comparison = APIComparison(
      from: PublicAPI(text: Self.former), to: PublicAPI(text: rest.joined(separator: "\n")))
    #expect(comparison.breakingChanges == ["Client was removed: `class Client`"])
  }

  @Test func `a new case breaks programs if its enumeration is closed`() {
    let closed = comparison(adding: "Mode.stretch | case stretch")
    #expect(
      closed.breakingChanges == [
        "Mode.stretch was added: `case stretch`. A switch over Mode lacks it; make the enumeration "
          + "@nonexhaustive"
      ])
    let open = comparison(adding: "Origin.memory | case memory")
    #expect(open.breakingChanges == [])
    #expect(open.additions == ["Origin.memory was added: `case memory`"])
  }

  @Test func `a new requirement breaks programs if it has no default implementation`() {
    let bare = comparison(adding: "Source.wait() | requirement: func wait()")
    #expect(
      bare.breakingChanges == [
        "Source.wait() was added: `requirement: func wait()`. Types that conform to Source lack it; "
          + "give it a default implementation"
      ])
    let implemented = comparison(adding: "Source.wait() | requirement with a default: func wait()")
    #expect(implemented.breakingChanges == [])
    #expect(implemented.additions.count == 1)
  }

  @Test(
    arguments: [
      (
        "Client.count | var count: Int { get }", "Client.count | var count: Int",
        "Client.count was changed from `var count: Int { get }` to `var count: Int`"
      ),
      (
        "Client.put(_:) | func put(_ image: Image)",
        "Client.put(_:) | @discardableResult func put(_ image: Image)",
        "Client.put(_:) was changed from `func put(_ image: Image)` to "
          + "`@discardableResult func put(_ image: Image)`"
      ),
      (
        "Client.put(_:) | func put(_ image: Image)",
        "Client.put(_:) | func put(_ image: Image = .empty)",
        "Client.put(_:) was changed from `func put(_ image: Image)` to "
          + "`func put(_ image: Image = .empty)`"
      ),
      (
        "Source.load() | requirement: func load() -> Image",
        "Source.load() | requirement with a default: func load() -> Image",
        "Source.load() was changed from `requirement: func load() -> Image` to "
          + "`requirement with a default: func load() -> Image`"
      ),
    ])
  func `a declaration that permits more breaks no program`(
    line: String, replacement: String, sentence: String
  ) {
    let comparison = comparison(replacing: line, with: replacement)
    #expect(comparison.breakingChanges == [])
    #expect(comparison.additions == [sentence])
  }

  @Test func `the list has requirements, conformances and cases of a symbol graph`() throws {
    let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(Self.graph.utf8))
    #expect(
      PublicAPI(graph).text.split(separator: "\n").dropFirst() == [
        "Mode | conforms to Source", "Mode | enum Mode", "Mode.fit | case fit",
        "Source | protocol Source", "Source.load() | requirement: func load()",
        "Source.stop() | requirement with a default: func stop()",
      ])
    #expect(graph.undocumentedPaths == ["Mode.fit"])
  }

  private static let graph = """
    {"symbols": [
      \(symbol("enum", "e", ["Mode"], "enum Mode")),
      \(symbol("enum.case", "c", ["Mode", "fit"], "case fit", comment: "")),
      \(symbol("protocol", "p", ["Source"], "protocol Source")),
      \(symbol("method", "l", ["Source", "load()"], "func load()")),
      \(symbol("method", "s", ["Source", "stop()"], "func\\n  stop()")),
      \(symbol("method", "d", ["Source", "stop()"], "func stop()"))],
     "relationships": [
      {"kind": "memberOf", "source": "c", "target": "e"},
      {"kind": "conformsTo", "source": "e", "target": "p"},
      {"kind": "conformsTo", "source": "e", "target": "x", "targetFallback": "Swift.Copyable"},
      {"kind": "requirementOf", "source": "l", "target": "p"},
      {"kind": "requirementOf", "source": "s", "target": "p"},
      {"kind": "defaultImplementationOf", "source": "d", "target": "s"}]}
    """

  private static func symbol(
    _ kind: String, _ id: String, _ path: [String], _ declaration: String,
    comment: String = ", \"docComment\": {\"lines\": []}"
  ) -> String {
    """
    {"kind": {"identifier": "swift.\(kind)"}, "identifier": {"precise": "\(id)"},
     "pathComponents": \(path), "declarationFragments": [{"spelling": "\(declaration)"}]\(comment)}
    """
  }
}
