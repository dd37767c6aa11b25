import FoundationEssentials
import Testing

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
    Sample(
      "br",
      base64: "W5+GgV8KIaEMuawUsEYZyi9A"),
    Sample(
      "zstd",
      base64: "KLUv/aCghgEAlQAAUAABAgMEBQYHCAkBAJOGzQsS"),
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
    Sample(
      "br",
      base64: "m3+EHvgnAOKxQCCHzwM="),
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
