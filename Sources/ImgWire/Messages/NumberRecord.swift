/// The payload of a message that is a list of numbers, in place of JSON: a byte 0, with which no JSON
/// begins, then 8 bytes for each number, little-endian.
///
/// For the two messages that accompany every picture to and from a decoder. Both ends run the same
/// build on the same machine, and JSON at both ends of both messages takes longer than the system
/// calls that carry them.
enum NumberRecord {
  private static let mark: UInt8 = 0
  private static let byteCountOfNumber = MemoryLayout<UInt64>.size

  static func encode(_ numbers: [UInt64]) -> [UInt8] {
    var payload: [UInt8] = []
    payload.reserveCapacity(1 + numbers.count * byteCountOfNumber)
    payload.append(mark)
    for number in numbers {
      for shift in stride(from: 0, to: UInt64.bitWidth, by: UInt8.bitWidth) {
        payload.append(UInt8(truncatingIfNeeded: number >> shift))
      }
    }
    return payload
  }

  /// Whether a payload is a record.
  static func isRecord(_ payload: ArraySlice<UInt8>) -> Bool { payload.first == mark }

  /// - Returns: `nil` if the last number is not complete.
  static func decode(_ payload: ArraySlice<UInt8>) -> [UInt64]? {
    let bytes = payload.dropFirst()
    guard bytes.count % byteCountOfNumber == 0 else { return nil }
    return stride(from: bytes.startIndex, to: bytes.endIndex, by: byteCountOfNumber).map { start in
      bytes[start..<start + byteCountOfNumber].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }
}

extension Bool {
  /// The number of a Boolean in a record.
  var recordNumber: UInt64 { self ? 1 : 0 }

  /// - Returns: `nil` for a number other than 0 and 1.
  init?(recordNumber: UInt64) {
    guard recordNumber <= 1 else { return nil }
    self = recordNumber == 1
  }
}

extension CaseIterable where Self: Equatable {
  /// The number of a case in a record.
  var recordNumber: UInt64 {
    guard let index = Self.allCases.enumerated().first(where: { $0.element == self })?.offset else {
      preconditionFailure("a case is one of all cases")
    }
    return UInt64(index)
  }

  /// - Returns: `nil` if no case has the number.
  init?(recordNumber: UInt64) {
    guard let index = Int(exactly: recordNumber),
      let found = Self.allCases.enumerated().first(where: { $0.offset == index })?.element
    else { return nil }
    self = found
  }
}
