@_spi(Coding) package import ImgModel

/// One picture for a decoder.
package struct DecodeRequest: Hashable, Sendable, Fielded {
  /// What becomes of the picture.
  package enum Output: String, CaseIterable, Sendable, FieldValue {
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

  /// The receiver checks the size of the picture.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    byteCount = try f.field("bytes", value?.byteCount)
    isLenient = try f.field("lenient", value?.isLenient)
    output = try f.field("output", value?.output)
    picture = try f.field("picture", value?.picture)
    variants = try f.field("variants", value?.variants)
    guard (1...ImageVariant.maximumCount).contains(variants.count) else {
      throw f.invalid("variants", "a picture has 1 to \(ImageVariant.maximumCount) variants")
    }
  }

  /// How many bytes ``Output/pixels`` of a size have.
  package static func byteCount(width: Int, height: Int) -> Int { width * height * 4 }
}

/// A message from a worker to its decoder. A decoder learns neither leases nor URLs.
package indirect enum DecoderOrder: Hashable, WireMessage {
  package static let sender = "worker"

  /// The first message. The file beside it is the output memory: control words, and room for a
  /// thumbnail. The decoder answers with `ready` or `refused`.
  case start(Limits, requiresSandbox: Bool)
  /// The file beside this message is the input memory, in which later `decode` messages find their
  /// pictures. It replaces an earlier one. There is no answer.
  case input
  /// Decode the picture in the input memory. The decoder answers with `decoded` or `failed`.
  case decode(DecodeRequest)
  /// Compute the placeholders and the colours of the picture in the input memory. The decoder answers
  /// with `described` or `failed`.
  case describe(picture: UInt64, byteCount: Int)

  package var announcesFile: Bool {
    switch self {
    case .start, .input: true
    case .decode, .describe: false
    }
  }
}

extension DecoderOrder {
  package func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .start(let limits, let requiresSandbox):
      try f.message("start", "limits", limits, "require_sandbox", requiresSandbox)
    case .input: f.message("input")
    case .decode(let payload): try f.message("decode", payload)
    case .describe(let picture, let byteCount):
      try f.message("describe", "picture", picture, "bytes", byteCount)
    }
  }

  package static func read(
    _ type: String, from f: inout Fields
  ) throws(FieldError) -> Self? {
    switch type {
    case "start": .start(try f.member("limits"), requiresSandbox: try f.member("require_sandbox"))
    case "input": .input
    case "decode": .decode(try f.payload())
    case "describe": .describe(picture: try f.member("picture"), byteCount: try f.member("bytes"))
    default: nil
    }
  }
}

/// The reason why a decoder cannot start.
package struct DecoderRefusal: Hashable, Sendable, Fielded {
  package let reason: String
  /// Whether every other decoder of this machine would say the same.
  package let isLasting: Bool

  package init(reason: String, isLasting: Bool) {
    self.reason = reason
    self.isLasting = isLasting
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    isLasting = try f.field("lasting", value?.isLasting)
    reason = try f.field("reason", value?.reason)
  }
}

/// A message from a decoder to its worker. The worker trusts none of it: the picture may control the
/// decoder.
package enum DecoderReport: Hashable, WireMessage {
  package static let sender = "decoder"

  /// The decoder is locked and waits for pictures.
  case ready(processID: Int32, SandboxReport)
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
  package func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .ready(let processID, let sandbox):
      try f.message("ready", "pid", processID, "sandbox", sandbox)
    case .refused(let payload): try f.message("refused", payload)
    case .decoded(let facts, let picture): try f.message("decoded", facts, of: picture)
    case .described(let description, let picture):
      try f.message("described", description, of: picture)
    case .failed(let failure, let picture): try f.message("failed", failure, of: picture)
    }
  }

  package static func read(
    _ type: String, from f: inout Fields
  ) throws(FieldError) -> Self? {
    switch type {
    case "ready": .ready(processID: try f.member("pid"), try f.member("sandbox"))
    case "refused": .refused(try f.payload())
    case "decoded": .decoded(try f.payload(), picture: try f.member("picture"))
    case "described": .described(try f.payload(), picture: try f.member("picture"))
    case "failed": .failed(try f.payload(), picture: try f.member("picture"))
    default: nil
    }
  }
}

extension Fields {
  /// What a decoder reports of one picture, whose number is beside the members of the content.
  fileprivate mutating func message<Content: Fielded>(
    _ type: StaticString, _ content: Content, of picture: UInt64
  ) throws(FieldError) {
    try message(type, content)
    try field("picture", picture)
  }
}

/// The thumbnails in the output memory's thumbnail area, one behind the other from its start, and their
/// source.
package struct RenderedFacts: Hashable, Sendable, Fielded {
  /// As many as the request has variants, in their order.
  package let thumbnails: [Thumbnail]
  package let source: SourceFacts
  package let thumbHash: ThumbHash

  package init(thumbnails: [Thumbnail], source: SourceFacts, thumbHash: ThumbHash) {
    self.thumbnails = thumbnails
    self.source = source
    self.thumbHash = thumbHash
  }

  /// The receiver checks the sizes.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    source = try f.field("source", value?.source)
    thumbHash = try f.field("thumbhash", value?.thumbHash)
    thumbnails = try f.field("thumbnails", value?.thumbnails)
    guard (1...ImageVariant.maximumCount).contains(thumbnails.count) else {
      throw f.invalid("thumbnails", "a picture has 1 to \(ImageVariant.maximumCount) thumbnails")
    }
  }
}
