/// The last value of one type and its JSON. Messages in a row mostly have equal options, so that each
/// side codes them once.
struct JSONMemo<Value: Equatable> {
  private var last: (value: Value, bytes: [UInt8])?

  /// Longer JSON is not kept: each connection has memos, and a peer decides on the length.
  private static var keptByteCount: Int { 4 << 10 }

  /// The JSON of a value.
  mutating func bytes(
    of value: Value, encode: (Value) throws -> [UInt8]
  ) rethrows -> [UInt8] {
    if let last, last.value == value { return last.bytes }
    let bytes = try encode(value)
    if bytes.count <= Self.keptByteCount { last = (value, bytes) }
    return bytes
  }

  /// The value of JSON.
  mutating func value(
    of json: ArraySlice<UInt8>,
    decode: (ArraySlice<UInt8>) throws(JSONReader.NotCanonical) -> Value
  ) throws(JSONReader.NotCanonical) -> Value {
    if let last, last.bytes.elementsEqual(json) { return last.value }
    let value = try decode(json)
    if json.count <= Self.keptByteCount { last = (value, Array(json)) }
    return value
  }
}
