package import ImgModel

extension DecodeRequest {
  /// Numbers in front of those of the variants.
  private static let ownNumberCount = 4

  /// Of a ``NumberRecord``: the picture's number and size, whether it is lenient, what becomes
  /// of it, and the variants.
  var numbers: [UInt64] {
    [
      picture, UInt64(truncatingIfNeeded: byteCount), isLenient.recordNumber,
      output.recordNumber,
    ] + variants.flatMap(\.numbers)
  }

  /// The receiver checks the size of the picture.
  ///
  /// - Returns: `nil` if these are not the numbers of a request.
  init?(numbers: [UInt64]) {
    let (count, rest) = (numbers.count - Self.ownNumberCount).quotientAndRemainder(
      dividingBy: ImageVariant.numberCount)
    guard (1...ImageVariant.maximumCount).contains(count), rest == 0,
      let isLenient = Bool(recordNumber: numbers[2]),
      let output = Output(recordNumber: numbers[3])
    else { return nil }
    let variants = (0..<count).compactMap { index in
      ImageVariant(
        numbers: numbers[(Self.ownNumberCount + index * ImageVariant.numberCount)...]
          .prefix(ImageVariant.numberCount)
      ).flatMap { try? Variant($0) }
    }
    guard variants.count == count else { return nil }
    self.init(
      picture: numbers[0], variants: variants, isLenient: isLenient, output: output,
      byteCount: Int(truncatingIfNeeded: numbers[1]))
  }
}

/// One picture for a decoder.
package struct DecodeRequest: Hashable, Sendable {
  /// What becomes of the picture.
  package enum Output: CaseIterable, Sendable {
    /// Its thumbnails, encoded.
    case thumbnails
    /// The bytes are the beginning of a picture, which is shown as far as it is there.
    case preview
    /// The pixels of one frame in the first variant, see ``UploadRequest/wantsPixels``. They are announced
    /// as a thumbnail with the format of the picture.
    case pixels
  }

  /// Counts the pictures of this decoder from 1. The answer repeats it, so that no answer is taken for
  /// that to another picture.
  package let picture: UInt64
  /// One to ``ImageVariant/maximumCount``.
  package let variants: [Variant]
  /// Whether a damaged picture is decoded as far as possible.
  package let isLenient: Bool
  package let output: Output
  /// The size of the picture, which begins at the start of the input memory.
  package let byteCount: Int

  package init(
    picture: UInt64, variants: [Variant], isLenient: Bool,
    output: Output = .thumbnails, byteCount: Int
  ) {
    self.picture = picture
    self.variants = variants
    self.isLenient = isLenient
    self.output = output
    self.byteCount = byteCount
  }

  /// How many bytes ``Output/pixels`` of a size have.
  package static func byteCount(width: Int, height: Int) -> Int { width * height * 4 }
}

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

/// The state of a decoder that has started, before it has seen a picture.
package struct DecoderReady: Hashable, Sendable, Codable {
  package let processID: Int32
  package let sandbox: SandboxReport

  package init(processID: Int32, sandbox: SandboxReport) {
    self.processID = processID
    self.sandbox = sandbox
  }

  private enum CodingKeys: String, CodingKey {
    case processID = "pid"
    case sandbox
  }
}

/// The reason why a decoder cannot start.
package struct DecoderRefusal: Hashable, Sendable, Codable {
  package let reason: String
  /// Whether every other decoder of this machine would say the same.
  package let isLasting: Bool

  package init(reason: String, isLasting: Bool) {
    self.reason = reason
    self.isLasting = isLasting
  }

  private enum CodingKeys: String, CodingKey {
    case reason
    case isLasting = "lasting"
  }
}

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

/// The settings that a decoder starts with.
package struct DecoderStart: Hashable, Sendable, Codable {
  package let limits: Limits
  /// Whether the decoder refuses to start if a part of its sandbox is missing.
  package let requiresSandbox: Bool

  package init(limits: Limits, requiresSandbox: Bool) {
    self.limits = limits
    self.requiresSandbox = requiresSandbox
  }

  private enum CodingKeys: String, CodingKey {
    case limits
    case requiresSandbox = "require_sandbox"
  }
}

/// One picture whose pixels a decoder describes.
package struct DescribeRequest: Hashable, Sendable, Codable {
  /// See ``DecodeRequest/picture``.
  package let picture: UInt64
  /// The size of the picture, which begins at the start of the input memory.
  package let byteCount: Int

  package init(picture: UInt64, byteCount: Int) {
    self.picture = picture
    self.byteCount = byteCount
  }

  private enum CodingKeys: String, CodingKey {
    case picture
    case byteCount = "bytes"
  }
}
