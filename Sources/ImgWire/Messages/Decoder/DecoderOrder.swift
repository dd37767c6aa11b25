/// A message from a worker to its decoder. A decoder learns neither leases nor URLs.
package enum DecoderOrder: Hashable, WireMessage {
  package static let sender = "worker"

  /// The first message. The file beside it is the output memory: control words, and room for a
  /// thumbnail. The decoder answers with `ready` or `refused`.
  case start(DecoderStart)
  /// The file beside this message is the input memory, in which later `decode` messages find their
  /// pictures. It replaces an earlier one. There is no answer.
  case input
  /// Decode the picture in the input memory. The decoder answers with `decoded` or `failed`.
  case decode(DecodeRequest)
  /// Compute the placeholders and the colours of the picture in the input memory. The decoder answers
  /// with `described` or `failed`.
  case describe(DescribeRequest)

  package var announcesFile: Bool {
    switch self {
    case .start, .input: true
    case .decode, .describe: false
    }
  }
}

extension DecoderOrder {
  package var numbers: [UInt64]? {
    if case .decode(let request) = self { request.numbers } else { nil }
  }

  package init?(numbers: [UInt64]) {
    guard let request = DecodeRequest(numbers: numbers) else { return nil }
    self = .decode(request)
  }
}

extension DecoderOrder {
  private enum Kind: String, Codable {
    case start, input, describe
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .start: self = .start(try DecoderStart(from: decoder))
    case .input: self = .input
    case .describe: self = .describe(try DescribeRequest(from: decoder))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: TypeKey.self)
    switch self {
    case .start(let start):
      try container.encode(Kind.start, forKey: .type)
      try start.encode(to: encoder)
    case .input: try container.encode(Kind.input, forKey: .type)
    case .describe(let request):
      try container.encode(Kind.describe, forKey: .type)
      try request.encode(to: encoder)
    case .decode: preconditionFailure("a decode order is a record")
    }
  }
}
