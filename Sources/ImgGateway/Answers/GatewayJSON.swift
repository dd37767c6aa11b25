import FoundationEssentials
import ImgModel

/// JSON as the gateway sends it.
package enum GatewayJSON {
  /// On one line, with sorted keys, so that equal values have equal bytes, and with escapes for what a
  /// terminal would obey.
  ///
  /// - Precondition: the value has no numbers that JSON lacks.
  package static func bytes(of value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else {
      preconditionFailure("values of answers have no numbers that JSON lacks")
    }
    return Array(String(decoding: data, as: UTF8.self).escapedForTerminals.utf8)
  }
}
