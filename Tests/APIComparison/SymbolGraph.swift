/// What the compiler tells of the declarations of a module, as far as a list of them needs it. The format
/// is that of `swift-symbolgraph-extract`.
package struct SymbolGraph: Decodable, Sendable {
  struct Symbol: Decodable, Sendable {
    struct Identifier: Decodable, Sendable {
      let precise: String
    }

    struct Kind: Decodable, Sendable {
      let identifier: String
    }

    struct Fragment: Decodable, Sendable {
      let spelling: String
    }

    /// Is there for a symbol with a doc comment, or whose protocol has one.
    struct DocComment: Decodable, Sendable {}

    let identifier: Identifier
    let kind: Kind
    let pathComponents: [String]
    let declarationFragments: [Fragment]
    let docComment: DocComment?

    var path: String { pathComponents.joined(separator: ".") }

    /// The declaration on one line.
    var declaration: String {
      declarationFragments.map(\.spelling).joined()
        .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
  }

  struct Relationship: Decodable, Sendable {
    let kind: String
    let source: String
    let target: String
    /// The name of a target of another module, with that module.
    let targetFallback: String?
  }

  let symbols: [Symbol]
  let relationships: [Relationship]

  /// The declarations without a doc comment, sorted.
  package var undocumentedPaths: [String] {
    symbols.filter { $0.docComment == nil }.map(\.path).sorted()
  }
}
