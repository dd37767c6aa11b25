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
