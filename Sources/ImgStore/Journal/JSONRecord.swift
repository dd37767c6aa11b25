import FoundationEssentials

/// Encodes records in JSON, for those that are few and may gain fields.
enum JSONRecord {
  /// - Throws: ``StoreError/Reason/failed`` for a value that JSON cannot encode, such as NaN.
  static func encode(_ value: some Encodable) throws(StoreError) -> [UInt8] {
    do {
      return Array(try JSONEncoder().encode(value))
    } catch {
      throw StoreError(.notEncodable, operation: "writing JSON")
    }
  }

  /// - Throws: ``StoreError/Reason/damaged`` for invalid JSON.
  static func decode<Value: Decodable>(
    _: Value.Type, from record: Span<UInt8>
  ) throws(StoreError) -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: Data(record.copy()))
    } catch {
      throw StoreError(.corrupted, operation: "reading JSON")
    }
  }
}
