/// An entry of a store that contradicts itself or the others.
package struct StoreDefect: Hashable, Sendable {
  /// In the order in which they are checked and repaired: an index entry without a record goes
  /// before the record that lacks one.
  enum Table: String, CaseIterable, Sendable {
    case arrivals, expiry, thumbnails, partials
  }

  enum Reason: String, Sendable {
    case foreign = "is no entry of this release"
    case damaged = "fails its checksum, or its lengths make no sense"
    case withoutExpiry = "has no entry in the index of expiry"
    case withoutArrival = "has no entry in the order of arrival"
    case withoutRecord = "belongs to no record"
  }

  let table: Table
  let entryKey: [UInt8]
  let reason: Reason
}

extension StoreDefect: CustomStringConvertible {
  /// One line: the table, the key, what is wrong.
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
