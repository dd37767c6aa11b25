/// An entry of a store that is damaged or contradicts other entries.
package struct StoreDefect: Hashable, Sendable {
  /// In the order of the checks and repairs: index entries without a record before records without
  /// an index entry.
  enum Table: String, CaseIterable, Sendable {
    case arrivals, expiry, thumbnails, partials
  }

  enum Reason: String, Sendable {
    case invalid = "is not a valid entry"
    case damaged = "fails its checksum, or its lengths are wrong"
    case withoutExpiry = "has no entry in the expiry index"
    case withoutArrival = "has no entry in the order of arrival"
    case withoutRecord = "has no record"
  }

  let table: Table
  let entryKey: [UInt8]
  let reason: Reason
}

extension StoreDefect: CustomStringConvertible {
  /// One line: the table, the key and the reason.
  package var description: String { "\(table.rawValue) \(keyText): \(reason.rawValue)" }

  /// The key in hexadecimal digits.
  private var keyText: String {
    entryKey.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}

extension StoreDefect: Encodable {
  private enum CodingKeys: String, CodingKey {
    case table, key, reason
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(table.rawValue, forKey: .table)
    try container.encode(keyText, forKey: .key)
    try container.encode(reason.rawValue, forKey: .reason)
  }
}
