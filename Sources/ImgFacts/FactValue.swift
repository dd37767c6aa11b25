/// The value of a metadata tag. In JSON it is a number, a text or a list of them.
package enum FactValue: Hashable, Sendable {
  case integer(Int)
  /// A number that is no integer; always finite.
  case number(Double)
  case text(String)
  case list([FactValue])

  /// One value as itself, several as a list; `nil` for none.
  init?(_ values: [FactValue]) {
    guard let first = values.first else { return nil }
    self = values.count == 1 ? first : .list(values)
  }

  /// A fraction or a floating-point number. An integer among them is one, as in JSON.
  ///
  /// - Returns: `nil` for what is not finite.
  init?(_ value: Double) {
    guard value.isFinite else { return nil }
    self = Int(exactly: value).map { .integer($0) } ?? .number(value)
  }

  package var integer: Int? {
    guard case .integer(let value) = self else { return nil }
    return value
  }

  package var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    case .text, .list: nil
    }
  }

  package var text: String? {
    guard case .text(let value) = self else { return nil }
    return value
  }

  package var list: [FactValue]? {
    guard case .list(let values) = self else { return nil }
    return values
  }
}

extension FactValue: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(Int.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else {
      self = .list(try container.decode([FactValue].self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .list(let values): try container.encode(values)
    }
  }
}
