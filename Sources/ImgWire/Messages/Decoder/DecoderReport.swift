package import ImgModel

/// A message from a decoder to its worker. The worker trusts none of it: the picture may control the
/// decoder.
package enum DecoderReport: Hashable, WireMessage {
  package static let sender = "decoder"

  /// The decoder is locked and waits for pictures.
  case ready(DecoderReady)
  /// The decoder cannot start and exits.
  case refused(Refusal)
  /// The thumbnail is in the output memory.
  case decoded(RenderedFacts)
  /// The picture has no thumbnail.
  case failed(Failure)
}

extension DecoderReport {
  private enum Kind: String, Codable {
    case ready, refused, decoded, failed
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .ready: self = .ready(try DecoderReady(from: decoder))
    case .refused: self = .refused(try Refusal(from: decoder))
    case .decoded: self = .decoded(try RenderedFacts(from: decoder))
    case .failed: self = .failed(try Failure(from: decoder))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: TypeKey.self)
    let (kind, payload): (Kind, any Encodable) =
      switch self {
      case .ready(let ready): (.ready, ready)
      case .refused(let refusal): (.refused, refusal)
      case .decoded(let facts): (.decoded, facts)
      case .failed(let failure): (.failed, failure)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}
