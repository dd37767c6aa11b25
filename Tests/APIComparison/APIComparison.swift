/// What differs between two versions of a module, as sentences.
package struct APIComparison: Sendable {
  private typealias Entry = PublicAPI.Entry

  /// Changes that break a program which uses the former version.
  package private(set) var breakingChanges: [String] = []
  /// Changes that break none.
  package private(set) var additions: [String] = []

  package var isEmpty: Bool { breakingChanges.isEmpty && additions.isEmpty }

  /// - Parameters:
  ///   - former: the version that programs use.
  ///   - current: the version that replaces it.
  package init(from former: PublicAPI, to current: PublicAPI) {
    let (oldEntries, newEntries) = (Set(former.entries), Set(current.entries))
    let types = oldEntries.filter { $0.kind == .type }
    let removedTypes = Set(types.map(\.path)).subtracting(newEntries.map(\.path))
    // What a removed type contained goes with it.
    var removed = former.entries.filter {
      !newEntries.contains($0) && !removedTypes.contains($0.parent)
        && ($0.kind == .type || !removedTypes.contains($0.path))
    }
    var added = current.entries.filter { !oldEntries.contains($0) }
    addPairs(&removed, &added, where: { $0.isVersion(of: $1) }) { old, new in
      (
        "\(old.path) was changed from `\(old.declaration)` to `\(new.declaration)`",
        old.isServed(by: new)
      )
    }
    addPairs(&removed, &added, where: { $0.isRenamed($1) }) { old, new in
      ("\(old.path) was renamed to \(new.path)", false)
    }
    for entry in removed { breakingChanges.append(entry.removal) }
    for entry in added { addAddition(of: entry, types: types) }
  }

  /// Takes what belongs together out of both lists, and adds it as changes.
  private mutating func addPairs(
    _ removed: inout [Entry], _ added: inout [Entry], where isPair: (Entry, Entry) -> Bool,
    _ change: (Entry, Entry) -> (sentence: String, isCompatible: Bool)
  ) {
    removed = removed.filter { old in
      guard let index = added.firstIndex(where: { isPair(old, $0) }) else { return true }
      let change = change(old, added.remove(at: index))
      if change.isCompatible {
        additions.append(change.sentence)
      } else {
        breakingChanges.append(change.sentence)
      }
      return false
    }
  }

  private mutating func addAddition(of entry: Entry, types: Set<Entry>) {
    let sentence = "\(entry.path) was added: `\(entry.declaration)`"
    let type = types.first { $0.path == entry.parent }
    switch entry.kind {
    case .enumCase where type?.isClosedEnumeration == true:
      breakingChanges.append(
        "\(sentence). A switch over \(entry.parent) lacks it; make the enumeration @nonexhaustive")
    case .requirement where type != nil:
      breakingChanges.append(
        "\(sentence). Types that conform to \(entry.parent) lack it; give it a default implementation"
      )
    case .conformance:
      additions.append("\(entry.path) \(entry.declaration)")
    case .type, .enumCase, .requirement, .member:
      additions.append(sentence)
    }
  }
}

extension PublicAPI.Entry {
  fileprivate enum Kind {
    case type, enumCase, conformance
    /// A requirement that each conforming type has to implement.
    case requirement
    case member
  }

  fileprivate var kind: Kind {
    if declaration.hasPrefix(PublicAPI.conformance) { return .conformance }
    if declaration.hasPrefix(PublicAPI.requirement) { return .requirement }
    if declaration.hasPrefix("case ") { return .enumCase }
    let keyword = declaration.split(separator: " ").first { $0 != "final" && !$0.hasPrefix("@") }
    let isType = ["actor", "class", "enum", "protocol", "struct", "typealias"].contains(keyword)
    return isType ? .type : .member
  }

  fileprivate var isClosedEnumeration: Bool {
    declaration.contains("enum ") && !declaration.contains("@nonexhaustive")
  }

  /// The path of the type around the declaration.
  fileprivate var parent: String {
    let names = path.prefix { $0 != "(" }
    return names.lastIndex(of: ".").map { String(path[..<$0]) } ?? ""
  }

  private var baseName: Substring {
    path.prefix { $0 != "(" }.split(separator: ".").last ?? ""
  }

  fileprivate var removal: String {
    kind == .conformance
      ? "\(path) no longer \(declaration)" : "\(path) was removed: `\(declaration)`"
  }

  fileprivate func isVersion(of other: Self) -> Bool {
    path == other.path && kind != .conformance && other.kind != .conformance
  }

  /// Whether another declaration of the same type differs in the name alone.
  fileprivate func isRenamed(_ other: Self) -> Bool {
    kind == other.kind && kind != .conformance && parent == other.parent
      && declaration.replacing(baseName, with: "_", maxReplacements: 1)
        == other.declaration.replacing(other.baseName, with: "_", maxReplacements: 1)
  }

  /// Whether programs that use the declaration may use another one of the same name: one that differs in
  /// values of arguments that a call leaves out, or permits more.
  fileprivate func isServed(by other: Self) -> Bool {
    let isReadOnly = declaration.hasPrefix("let ") || declaration.hasSuffix(Self.getter)
    return callForm == other.callForm && defaultCount <= other.defaultCount
      || isReadOnly && readForm == other.readForm
      || declaration
        == other.declaration.replacing(
          PublicAPI.requirementWithDefault, with: PublicAPI.requirement)
  }

  private static let getter = " { get }"
  private static let discardableResult = "@discardableResult "

  /// What a call has to state.
  private var callForm: String {
    declaration.replacing(Self.discardableResult, with: "").replacing(Self.defaultValue, with: "")
  }

  /// How many parts of a call may be left out: arguments, and the use of the result.
  private var defaultCount: Int {
    declaration.matches(of: Self.defaultValue).count
      + (declaration.contains(Self.discardableResult) ? 1 : 0)
  }

  private static var defaultValue: Regex<Substring> { /\ = [\w.]+(?:\(\))?/ }

  /// What a program needs to read a property.
  private var readForm: String {
    let text = declaration.replacing(Self.getter, with: "")
    return text.hasPrefix("let ") ? "var " + text.dropFirst("let ".count) : text
  }
}

/// The public declarations of a module, one a line, in an order that does not depend on the files.
package struct PublicAPI: Hashable, Sendable {
  /// One line: a declaration, or a protocol to which a type conforms.
  struct Entry: Hashable, Comparable, Sendable {
    /// The names of the types around a declaration, and its own.
    let path: String
    let declaration: String

    var line: String { path + PublicAPI.separator + declaration }

    static func < (left: Self, right: Self) -> Bool {
      (left.path, left.declaration) < (right.path, right.declaration)
    }
  }

  static let conformance = "conforms to "
  static let requirement = "requirement: "
  static let requirementWithDefault = "requirement with a default: "

  private static let separator = " | "
  /// Every type has them, unless its declaration says that it has not.
  private static let implicitProtocols: Set = ["Copyable", "Escapable", "SendableMetatype"]

  let entries: [Entry]

  /// The declarations of a graph of public symbols.
  package init(_ graph: SymbolGraph) {
    let symbols = Dictionary(
      graph.symbols.map { ($0.identifier.precise, $0) }, uniquingKeysWith: { first, _ in first })
    let sources = { kind in Set(graph.relationships.filter { $0.kind == kind }.map(\.source)) }
    let defaults = graph.relationships.filter { $0.kind == "defaultImplementationOf" }
    let (implementations, implemented) = (Set(defaults.map(\.source)), Set(defaults.map(\.target)))
    let requirements = sources("requirementOf").union(sources("optionalRequirementOf"))
    let declarations = graph.symbols.compactMap { symbol -> Entry? in
      let id = symbol.identifier.precise
      guard !implementations.contains(id) else { return nil }
      let role =
        !requirements.contains(id)
        ? "" : implemented.contains(id) ? Self.requirementWithDefault : Self.requirement
      return Entry(path: symbol.path, declaration: role + symbol.declaration)
    }
    let conformances = graph.relationships.compactMap { relationship -> Entry? in
      guard relationship.kind == "conformsTo", let type = symbols[relationship.source] else {
        return nil
      }
      let name =
        symbols[relationship.target]?.path ?? relationship.targetFallback ?? relationship.target
      let ownName = name.split(separator: ".").last.map(String.init) ?? name
      guard !Self.implicitProtocols.contains(ownName) else { return nil }
      return Entry(path: type.path, declaration: Self.conformance + ownName)
    }
    // One conformance may be there for several extensions.
    entries = (declarations + Set(conformances)).sorted()
  }

  /// The declarations of a list as ``text`` writes it.
  package init(text: String) {
    entries = text.split(separator: "\n").compactMap { line in
      guard !line.hasPrefix("#"), let separator = line.firstRange(of: Self.separator) else {
        return nil
      }
      return Entry(
        path: String(line[..<separator.lowerBound]),
        declaration: String(line[separator.upperBound...]))
    }.sorted()
  }

  /// A list for a file and its reviewers.
  package var text: String {
    let head = "# The public declarations of the module. scripts/api --update writes this file."
    return ([head] + entries.map(\.line)).map { $0 + "\n" }.joined()
  }
}

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
