import FoundationEssentials

/// JSON as the gateway sends it.
package enum GatewayJSON {
  /// On one line, with sorted keys, so that equal values have equal bytes.
  package static func bytes(of value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }
}
