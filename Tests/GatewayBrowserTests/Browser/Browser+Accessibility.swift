/// What a screen reader is told of an element.
struct AccessibleNode {
  /// Such as `button`.
  let role: String
  let name: String
  /// Names of properties that have a text, such as `live`, with that text.
  let properties: [String: String]
}

extension AccessibleNode: Decodable {
  private struct Text: Decodable {
    /// `nil` for a number or another value that is no text.
    let value: String?

    private enum CodingKeys: CodingKey { case value }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      // Values of other types are of no use here.
      value = try? container.decode(String.self, forKey: .value)
    }
  }

  private struct Property: Decodable {
    let name: String
    let value: Text
  }

  private enum CodingKeys: CodingKey { case role, name, properties }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    role = try container.decodeIfPresent(Text.self, forKey: .role)?.value ?? ""
    name = try container.decodeIfPresent(Text.self, forKey: .name)?.value ?? ""
    let properties = try container.decodeIfPresent([Property].self, forKey: .properties) ?? []
    self.properties = Dictionary(
      properties.compactMap { property in property.value.value.map { (property.name, $0) } }
    ) { first, _ in first }
  }
}

extension Browser {
  /// What screen readers are told of the page, in its order. Elements that they pass over are left out.
  func accessibleNodes() async throws -> [AccessibleNode] {
    struct Nothing: Encodable {}
    struct Node: Decodable {
      let ignored: Bool
      let node: AccessibleNode

      private enum CodingKeys: CodingKey { case ignored }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        ignored = try container.decode(Bool.self, forKey: .ignored)
        node = try AccessibleNode(from: decoder)
      }
    }
    struct Tree: Decodable { let nodes: [Node] }
    let tree = try await call("Accessibility.getFullAXTree", Nothing(), as: Tree.self)
    return tree.nodes.filter { !$0.ignored }.map(\.node)
  }
}
