import CZstd
import FoundationEssentials
import Testing

/// Bytes in the gzip format (RFC 1952).
enum Compressed {
  /// `User-agent: *` and `Disallow: /`, a line each.
  static let closingAll: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0B, 0x2D, 0x4E, 0x2D, 0xD2, 0x4D,
    0x4C, 0x4F, 0xCD, 0x2B, 0xB1, 0x52, 0xD0, 0xE2, 0x72, 0xC9, 0x2C, 0x4E, 0xCC, 0xC9, 0xC9, 0x2F,
    0xB7, 0x52, 0xD0, 0xE7, 0x02, 0x00, 0x42, 0x84, 0xA4, 0x8F, 0x1A, 0x00, 0x00, 0x00,
  ]

  static let empty: [UInt8] =
    [0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x03, 0x00]
    + Array(repeating: 0, count: 8)

  static let twoMillionZeros: [UInt8] =
    [
      0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xED, 0xC1, 0x01, 0x01, 0x00,
      0x00, 0x00, 0x82, 0x20, 0xFF, 0xAF, 0x6E, 0x48, 0x40, 0x01,
    ] + Array(repeating: 0, count: 1_937)
    + [0x6F, 0x06, 0x41, 0x1D, 0x5A, 0x42, 0x80, 0x84, 0x1E, 0x00]
}

extension Compressed {
  /// Any bytes, as `zstd` without much work.
  static func zstd(_ bytes: [UInt8]) -> [UInt8] {
    let bound = ZSTD_compressBound(bytes.count)
    return unsafe [UInt8](unsafeUninitializedCapacity: bound) { output, count in
      count = unsafe bytes.withUnsafeBytes { input in
        unsafe ZSTD_compress(output.baseAddress, bound, input.baseAddress, input.count, 1)
      }
      precondition(ZSTD_isError(count) == 0, "the bound is enough")
    }
  }
}

extension Compressed {
  /// A body that several pieces come out of.
  static let content: [UInt8] = (0..<100_000).map { UInt8($0 % 10) }

  /// A body as it is encoded.
  struct Sample: Sendable, CustomTestStringConvertible {
    /// The codings in the order in which they were applied.
    let codings: String
    let bytes: [UInt8]

    init(_ codings: String, base64 text: String) {
      self.codings = codings
      bytes = Data(base64Encoded: text).map(Array.init) ?? []
    }

    var testDescription: String { codings }
  }

  /// ``content`` in each coding, `deflate` with and without the head of zlib (RFC 1950), and in several
  /// codings.
  static let samples: [Sample] = [
    Sample(
      "gzip",
      base64: "H4sIAAAAAAACA+3GtwEAIAgAMCyI/v+wbzAkU2LMtfPUfWFmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmzfYBf++ZDaCGAQA="),
    Sample(
      "deflate",
      base64: "eNrtxrcBACAIADAsiP7/sG8wJFNizLXz1H1hZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZs32AbiP3is="),
    Sample(
      "deflate",
      base64: "7ca3AQAgCAAwLIj+/7BvMCRTYsy189R9YWZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
        + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmbN9gE="),
    Sample("br", base64: "W5+GgV8KIaEMuawUsEYZyi9A"),
    Sample("zstd", base64: "KLUv/aCghgEAlQAAUAABAgMEBQYHCAkBAJOGzQsS"),
    Sample(
      "gzip, br",
      base64: "G+4A+I3THTWrluLTxM1aE3jjRN0aUJdtoCzAscCiskTH+sf/mkJMUQTSsABAAJcTwKVD8DaNIMATgKH8/Svf"
        + "kFlz/6yB6anlC4ZHwZYRCAA="),
    Sample(
      "zstd, deflate, gzip",
      base64: "H4sIAAAAAAACAwEnANj/eNrT2Kr/d8GCNkaGqQwMAQyMTMwsrGzsHJyMDJPbznILAQCA7wbn5G5qVicAAAA="
    ),
  ]

  /// Two million zeros. Those of `gzip, gzip` are short again between the two.
  static let bombs: [Sample] = [
    Sample("br", base64: "m3+EHvgnAOKxQCCHzwM="),
    Sample(
      "zstd",
      base64: "KLUv/aCAhB4ATAAACAABAPz/ORACAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIA"
        + "EAACABAAAgAQAAIAEAADJAQA"),
    Sample(
      "gzip, gzip",
      base64: "H4sIAAAAAAACA5Pv5mAAASbmtwcZGYGMJoX/6/M8HBgZRsEoGAWjYBSMglEw8CCfzVE2yqmhRY4BAIWl9EC0"
        + "BwAA"),
  ]
}
