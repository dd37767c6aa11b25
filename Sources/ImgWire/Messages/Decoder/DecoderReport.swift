package import ImgModel

/// A message from a decoder to its worker. The worker trusts none of it: the picture may control the
/// decoder.
package enum DecoderReport: Hashable, WireMessage {
  package static let sender = "decoder"

  /// The decoder is locked and waits for pictures.
  case ready(DecoderReady)
  /// The decoder cannot start and exits.
  case refused(Refusal)
  /// The thumbnail is in the output memory. The number is that of the request.
  case decoded(RenderedFacts, picture: UInt64)
  /// The picture with the number of the request has no thumbnail.
  case failed(Failure, picture: UInt64)
}

extension DecoderReport {
  private enum Kind: String, Codable {
    case ready, refused, decoded, failed
  }

  private enum CodingKeys: String, CodingKey {
    case type, picture
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let picture = { try container.decode(UInt64.self, forKey: .picture) }
    switch try container.decode(Kind.self, forKey: .type) {
    case .ready: self = .ready(try DecoderReady(from: decoder))
    case .refused: self = .refused(try Refusal(from: decoder))
    case .decoded: self = .decoded(try RenderedFacts(from: decoder), picture: try picture())
    case .failed: self = .failed(try Failure(from: decoder), picture: try picture())
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    let (kind, payload, picture): (Kind, any Encodable, UInt64?) =
      switch self {
      case .ready(let ready): (.ready, ready, nil)
      case .refused(let refusal): (.refused, refusal, nil)
      case .decoded(let facts, let picture): (.decoded, facts, picture)
      case .failed(let failure, let picture): (.failed, failure, picture)
      }
    try container.encode(kind, forKey: .type)
    try container.encodeIfPresent(picture, forKey: .picture)
    try payload.encode(to: encoder)
  }
}
