package import ImgModel

/// A message from a decoder to its worker. The worker trusts none of it: the picture may control the
/// decoder.
package enum DecoderReport: Hashable, WireMessage {
  package static let sender = "decoder"

  /// The decoder is locked and waits for pictures.
  case ready(DecoderReady)
  /// The decoder cannot start and exits.
  case refused(DecoderRefusal)
  /// The thumbnail is in the output memory. The number is that of the request.
  case decoded(RenderedFacts, picture: UInt64)
  /// What the pixels and the frames of the picture with the number of the request tell.
  case described(PictureDescription, picture: UInt64)
  /// The picture with the number of the request has no thumbnail.
  case failed(Failure, picture: UInt64)
}

extension DecoderReport {
  package var numbers: [UInt64]? {
    if case .decoded(let facts, let picture) = self { [picture] + facts.numbers } else { nil }
  }

  package init?(numbers: [UInt64]) {
    guard let picture = numbers.first,
      let facts = RenderedFacts(numbers: Array(numbers.dropFirst()))
    else { return nil }
    self = .decoded(facts, picture: picture)
  }
}

extension DecoderReport {
  private enum Kind: String, Codable {
    case ready, refused, described, failed
  }

  private enum CodingKeys: String, CodingKey {
    case type, picture
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Kind.self, forKey: .type) {
    case .ready: self = .ready(try DecoderReady(from: decoder))
    case .refused: self = .refused(try DecoderRefusal(from: decoder))
    case .described:
      self = .described(
        try PictureDescription(from: decoder),
        picture: try container.decode(UInt64.self, forKey: .picture))
    case .failed:
      self = .failed(
        try Failure(from: decoder), picture: try container.decode(UInt64.self, forKey: .picture))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .ready(let ready):
      try container.encode(Kind.ready, forKey: .type)
      try ready.encode(to: encoder)
    case .refused(let refusal):
      try container.encode(Kind.refused, forKey: .type)
      try refusal.encode(to: encoder)
    case .described(let description, let picture):
      try container.encode(Kind.described, forKey: .type)
      try container.encode(picture, forKey: .picture)
      try description.encode(to: encoder)
    case .failed(let failure, let picture):
      try container.encode(Kind.failed, forKey: .type)
      try container.encode(picture, forKey: .picture)
      try failure.encode(to: encoder)
    case .decoded: preconditionFailure("a thumbnail is reported as a record")
    }
  }
}
