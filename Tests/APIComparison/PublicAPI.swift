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
