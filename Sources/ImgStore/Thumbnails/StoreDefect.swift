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
  /// One line: the table, the key in hexadecimal digits, what is wrong.
  package var description: String {
    let digits = entryKey.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return "\(table.rawValue) \(digits.joined()): \(reason.rawValue)"
  }
}
