import Testing

/// What Package.swift says of its targets.
struct Manifest: Sendable {
  struct Target: Sendable {
    let name: String
    let directory: String
    let dependencies: Set<String>
    /// A system library: a module map and a header, no Swift.
    let isSystemLibrary: Bool
  }

  let targets: [Target]

  /// - Parameter text: a manifest that keeps to the rules in the head of ours: literals only.
  init(text: String) {
    let declaration = /\.(target|testTarget|executableTarget|systemLibrary)\(\s*name: "(\w+)"/
    let declarations = text.matches(of: declaration)
    targets = declarations.indices.map { index in
      let next = declarations.indices.contains(index + 1) ? declarations[index + 1] : nil
      let end = next?.range.lowerBound ?? text.endIndex
      let body = text[declarations[index].range.lowerBound..<end]
      let (kind, name) = (declarations[index].1, String(declarations[index].2))
      let list = body.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
      return Target(
        name: name,
        directory: body.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) }
          ?? (kind == "testTarget" ? "Tests/\(name)" : "Sources/\(name)"),
        dependencies: Set(list.matches(of: /"(\w+)"/).map { String($0.1) }),
        isSystemLibrary: kind == "systemLibrary")
    }
  }

  static func ours() throws -> Manifest {
    Manifest(text: try Repository.text("Package.swift"))
  }
}

extension Manifest.Target: CustomTestStringConvertible {
  var testDescription: String { name }
}
