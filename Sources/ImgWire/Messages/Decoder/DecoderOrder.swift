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

  package var announcesFile: Bool {
    switch self {
    case .start, .input: true
    case .decode: false
    }
  }
}

extension DecoderOrder {
  private enum Kind: String, Codable {
    case start, input, decode
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .start: self = .start(try DecoderStart(from: decoder))
    case .input: self = .input
    case .decode: self = .decode(try DecodeRequest(from: decoder))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: TypeKey.self)
    let (kind, payload): (Kind, (any Encodable)?) =
      switch self {
      case .start(let start): (.start, start)
      case .input: (.input, nil)
      case .decode(let request): (.decode, request)
      }
    try container.encode(kind, forKey: .type)
    try payload?.encode(to: encoder)
  }
}
