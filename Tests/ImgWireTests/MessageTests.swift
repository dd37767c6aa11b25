import ImgModel
import Testing

@testable import ImgWire

/// A payload, which need not be a message, behind its length in big-endian order.
func frame(_ payload: [UInt8]) -> [UInt8] {
  [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: payload.count >> $0) } + payload
}

@Suite struct FrameTests {
  private static let payloads: [[UInt8]] = [
    Array("{}".utf8), Array(#"{"type":"drain"}"#.utf8), [UInt8](repeating: 0x20, count: 70_000),
  ]
  private static let stream = payloads.flatMap(frame)

  private func frames(of stream: [UInt8], inPiecesOf size: Int) throws(FrameError) -> [[UInt8]] {
    var decoder = FrameDecoder()
    var frames: [[UInt8]] = []
    for start in stride(from: 0, to: stream.count, by: size) {
      decoder.append(stream[start..<min(start + size, stream.count)])
      while let frame = try decoder.next() { frames.append(Array(frame)) }
    }
    return frames
  }

  @Test(arguments: [1, 2, 3, 5, 7, 4_096, 1 << 20])
  func `frames are decoded from pieces of any size`(size: Int) throws {
    #expect(try frames(of: Self.stream, inPiecesOf: size) == Self.payloads)
  }

  @Test(
    arguments: [
      ([0, 0, 0, 0], FrameError.empty),
      ([0x00, 0x10, 0x00, 0x01], .tooLong(byteCount: Frame.maximumByteCount + 1)),
      ([0xFF, 0xFF, 0xFF, 0xFF], .tooLong(byteCount: 0xFFFF_FFFF)),
    ] as [([UInt8], FrameError)])
  func `an invalid length is an error before the payload`(header: [UInt8], error: FrameError) {
    var decoder = FrameDecoder()
    decoder.append(header)
    #expect(throws: error) { try decoder.next() }
  }

  @Test func `a frame of the maximum length is decoded`() throws {
    let payload = [UInt8](repeating: 0x20, count: Frame.maximumByteCount)
    #expect(try frames(of: frame(payload), inPiecesOf: 65_536) == [payload])
  }

  @Test func `memory is held for buffered bytes only`() throws {
    let bytes = frame([UInt8](repeating: 0x20, count: 100_000))
    var decoder = FrameDecoder()
    #expect(!decoder.hasNext && !decoder.isWithinFrame)
    decoder.append(bytes + bytes[..<50_000])
    #expect(decoder.hasNext && !decoder.isWithinFrame)
    #expect(decoder.heldByteCount >= 150_000)
    _ = try decoder.next()
    #expect(!decoder.hasNext && decoder.isWithinFrame)
    #expect((50_000..<80_000).contains(decoder.heldByteCount))
    decoder.append(bytes[50_000...])
    #expect(decoder.hasNext && !decoder.isWithinFrame)
    _ = try decoder.next()
    #expect(!decoder.hasNext && !decoder.isWithinFrame)
    #expect(decoder.heldByteCount == 0)
  }

  @Test func `an error counts as a next frame`() {
    var decoder = FrameDecoder()
    decoder.append([0, 0, 0, 0])
    #expect(decoder.hasNext && !decoder.isWithinFrame)
  }

  @Test func `an error is permanent`() {
    var decoder = FrameDecoder()
    decoder.append([0, 0, 0, 0])
    #expect(throws: FrameError.empty) { try decoder.next() }
    decoder.append(frame(Array("{}".utf8)))
    #expect(throws: FrameError.empty) { try decoder.next() }
  }

  @Test func `an incomplete frame is not decoded`() throws {
    for count in 0..<6 {
      var decoder = FrameDecoder()
      decoder.append(frame(Array("{}".utf8)).prefix(count))
      #expect(try decoder.next() == nil || count == 6)
    }
  }
}

@Suite struct MessageErrorTests {
  @Test(arguments: [
    "", "null", "[]", "7", "{", #"{"type":7}"#, #"{"type":"nonsense"}"#, #"{}"#,
    #"{"type":"get","id":1}"#, #"{"type":"get","id":-1,"url":"","options":{}}"#,
    #"{"type":"results","id":1,"job":1,"from":0.5,"failed_only":true}"#,
    String(repeating: "[", count: 100_000),
  ])
  func `an invalid message is an error`(text: String) {
    #expect(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    }
  }

  @Test func `invalid UTF-8 is an error`() {
    #expect(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: [0x7B, 0xFF, 0xFE, 0x7D])
    }
  }

  @Test func `the error names the missing member`() throws {
    let error = try #require(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: ArraySlice(#"{"type":"stop"}"#.utf8))
    }
    #expect(error.description == #"not a message of a client: "id" is missing"#)
  }

  @Test func `unknown members are ignored`() throws {
    let text = #"{"type":"stop","id":1,"later":{"x":[1]}}"#
    let message = try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    #expect(message == .stop(RequestID(rawValue: 1)))
  }

  @Test func `a variant out of range is not decoded`() {
    let text = """
      {"type":"get","id":1,"url":"http://a/","options":{"priority":0,"delay_ms":0,"variant":
      {"width":0,"height":1,"mode":"fit","crop":false,"format":"auto","quality":80}}}
      """
    #expect(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    }
  }

  @Test func `a message that exceeds a frame is not encoded`() {
    let lines = ListLines([String(repeating: "a", count: Frame.maximumByteCount)])
    #expect(throws: MessageError.self) {
      try WireCoding.frame(ClientMessage.submitLines(RequestID(rawValue: 1), lines))
    }
  }
}

/// The messages for each picture. The worker trusts no decoder: a picture may control it.
@Suite struct DecoderMessageTests {
  private func returned<Message: WireMessage>(_ message: Message) throws -> Message {
    try WireCoding.message(
      Message.self, from: try WireCoding.frame(message).dropFirst(Frame.headerByteCount))
  }

  private func order(
    _ variants: [Variant], output: DecodeRequest.Output = .thumbnails, byteCount: Int = 9
  ) -> DecoderOrder {
    .decode(
      DecodeRequest(
        picture: .max, variants: variants, isLenient: true, output: output, byteCount: byteCount))
  }

  private static let facts = RenderedFacts(
    thumbnails: [
      Thumbnail(format: .webp, width: 256, height: 171, byteCount: 9_182, isDamaged: true)
    ],
    source: SourceFacts(
      format: .jp2, width: 4_000, height: 3_000, frames: 330, decodePath: .planar),
    thumbHash: GoldenMessages.thumbHash)

  @Test(arguments: DecodeRequest.Output.allCases)
  func `a request says what becomes of its picture`(output: DecodeRequest.Output) throws {
    let order = order([.standard], output: output)
    #expect(try returned(order) == order)
  }

  @Test(arguments: ImageVariant.Mode.allCases, ImageVariant.Format.allCases)
  func `a request comes back as sent`(mode: ImageVariant.Mode, format: ImageVariant.Format) throws {
    let variant = try Variant(
      ImageVariant(
        width: 16_383, height: 1, mode: mode, crop: mode.coversBox ? .entropy : nil, format: format,
        quality: 100))
    #expect(try returned(order([variant])) == order([variant]))
  }

  @Test func `every part of a variant comes back as it was sent`() throws {
    let frames: [ImageVariant.Frames] = [
      .first, .number(999_999), .time(.seconds(86_400)), .poster, .all,
    ]
    let crops: [ImageVariant.Crop?] = [
      nil, .centre, .attention, .entropy, .point(x: 1, y: Thousandths(count: 7)),
    ]
    let uses = EmbeddedUse.allCases
    for index in 0..<frames.count {
      var variant = ImageVariant(
        width: 1, height: 2, mode: .fill, crop: crops[index], enlarges: index % 2 == 0,
        frames: frames[index],
        effects: ImageVariant.Effects(
          isGrayscale: index == 1, blur: Thousandths(count: index), sharpen: 1, radius: index,
          padding: 2 * index,
          background: index == 3 ? nil : RGBColour(red: 1, green: 2, blue: UInt8(index))),
        keptData: ImageVariant.KeptData(
          profile: index % 2 == 0, metadata: index > 2, copyright: index == 1))
      variant.embeddedUse = uses[index % uses.count]
      variant.effects.sharpenAmounts = SharpenAmounts(flat: 1, edges: Thousandths(count: index))
      variant.sizing = Sizing(
        density: Thousandths(count: 500 + index), maximumPixelCount: index == 0 ? nil : index,
        keepsDrawingSize: index == 2)
      variant.depth = index == 1 ? .sixteen : .eight
      let order = order([try Variant(variant)])
      #expect(try returned(order) == order)
    }
  }

  @Test func `requests and reports have as many thumbnails as variants, one to eight`() throws {
    let thumbnail = Self.facts.thumbnails[0]
    for count in 0...9 {
      let variants = try (0..<count).map { try Variant(ImageVariant(width: 10 + $0, height: 10)) }
      let report = DecoderReport.decoded(
        RenderedFacts(
          thumbnails: Array(repeating: thumbnail, count: count), source: Self.facts.source,
          thumbHash: Self.facts.thumbHash), picture: 7)
      let isValid = (1...8).contains(count)
      #expect((try? returned(order(variants))) == (isValid ? order(variants) : nil))
      #expect((try? returned(report)) == (isValid ? report : nil))
    }
  }

  @Test(arguments: ["", "2BcCA", "WBcCAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "not base64"])
  func `another text is not taken for a ThumbHash`(text: String) throws {
    let report = DecoderReport.decoded(Self.facts, picture: 7)
    let payload = String(decoding: try WireCoding.frame(report).dropFirst(4), as: UTF8.self)
    let other = payload.replacing(Self.facts.thumbHash.text, with: text)
    #expect(other != payload)
    #expect(throws: MessageError.self) {
      try WireCoding.message(DecoderReport.self, from: ArraySlice(other.utf8))
    }
  }

  /// Sizes are checked by the receiver, which knows the limits.
  @Test func `sizes below 0 stay below 0`() throws {
    let order = order([.standard], byteCount: -5)
    #expect(try returned(order) == order)
  }
}

/// Decoding validates the values of requests.
@Suite struct RequestValueTests {
  private func error(of text: String) throws -> String {
    let error = try #require(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    }
    return error.description
  }

  private func message(_ text: String) throws -> ClientMessage {
    try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
  }

  private func limit(_ members: String) -> String {
    #"{"type":"limit","id":1,"limits":{\#(members)}}"#
  }

  private func get(_ members: String, isSliding: Bool = false) -> String {
    #"{"type":"get","id":1,"url":"http://a/","no_cache":false,"updates":0,"options":"#
      + #"{"priority":0,\#(members)"#
      + #""expire_on_access":\#(isSliding),"lenient":false,"keep":"thumbnail","#
      + #""fetch":{"headers":[],"ignore_query":[],"cache_policy":"reload","respect_opt_out":false,"#
      + #""respect_robots":false},"variant":{"width":1,"height":1,"mode":"fit","crop":false,"#
      + #""format":"auto","quality":80}}}"#
  }

  private func change(_ members: String) -> String {
    #"{"type":"change","id":1,"job":3,"change":{\#(members)}}"#
  }

  @Test(arguments: [
    (#""transfers":0"#, "the limit must be from 1 to 16384"),
    (#""transfers":16385"#, "the limit must be from 1 to 16384"),
    (#""transfers_per_host":0"#, "the limit must be from 1 to 16384"),
    (#""host_rate_per_minute":-1"#, "the limit must be from 0 to 600000"),
    (#""host_rate_per_minute":600001"#, "the limit must be from 0 to 600000"),
    (#""bytes_per_second":1023"#, "the limit must be 0, or from 1024 to 1099511627776"),
    (#""bytes_per_second_per_host":-1"#, "the limit must be 0, or from 1024 to 1099511627776"),
    (#""default_expiry_ms":0"#, "the limit must be from 1 to 3153600000000"),
    (#""default_expiry_ms":3153600000001"#, "the limit must be from 1 to 3153600000000"),
    (#""memory_budget_bytes":10485759"#, "the limit must be from 10485760 to 1099511627776"),
    (#""transfers":1.5"#, "not a message of a client"),
  ])
  func `a limit out of range is not decoded`(members: String, reason: String) throws {
    #expect(try error(of: limit(members)).contains(reason))
  }

  @Test func `a limit that is not set is unchanged`() throws {
    guard case .limit(_, let change) = try message(limit(#""transfers_per_host":1024"#)) else {
      Issue.record("no limit")
      return
    }
    var limits = Limits()
    limits.apply(change)
    var expected = Limits()
    expected.transfersPerHost = 1_024
    #expect(limits == expected)
    limits.apply(LimitChange(transfers: 2, hostRatePerMinute: 0))
    expected.transfers = 2
    #expect(limits == expected)
    limits.apply(LimitChange(bytesPerSecond: 1 << 20, hostBytesPerSecond: 1_024))
    limits.apply(LimitChange(bytesPerSecond: 0))
    expected.hostBytesPerSecond = 1_024
    #expect(limits == expected)
    limits.apply(LimitChange(defaultExpiry: .seconds(3_600), memoryBudgetByteCount: 80 << 20))
    expected.defaultExpiry = .seconds(3_600)
    expected.memoryBudgetByteCount = 80 << 20
    #expect(limits == expected)
  }

  @Test(arguments: [
    (#""expire_after_ms":0,"#, false, "the expiry must be from 1 ms to 100 years"),
    (#""expire_after_ms":3153600000001,"#, false, "the expiry must be from 1 ms to 100 years"),
    (
      #""expire_after_ms":1,"expire_at":"2027-01-01T00:00:00.000Z","#, false,
      "the expiry must be a duration or a date"
    ),
    (#""expire_at":"2027-01-01T00:00:00.000Z","#, true, "a date cannot slide"),
    (#""expire_at":"tomorrow","#, false, "tomorrow"),
  ])
  func `an invalid expiry is not decoded`(members: String, isSliding: Bool, reason: String) throws {
    let text = get(#""delay_ms":0,"# + members, isSliding: isSliding)
    #expect(try error(of: text).contains(reason))
  }

  @Test(
    arguments: [
      ("", false, .standard), ("", true, Expiry(.standard, isSliding: true)),
      (#""expire_after_ms":1,"#, false, Expiry(.after(.milliseconds(1)))),
      (#""expire_after_ms":9,"#, true, Expiry(.after(.milliseconds(9)), isSliding: true)),
      (
        #""expire_at":"2027-01-01T00:00:00.001Z","#, false,
        Expiry(.at(WallTime(rawValue: 1_798_761_600_001)))
      ),
    ] as [(String, Bool, Expiry)])
  func `an expiry is decoded`(members: String, isSliding: Bool, expiry: Expiry) throws {
    let text = get(#""delay_ms":0,"# + members, isSliding: isSliding)
    guard case .get(_, let request) = try message(text) else {
      Issue.record("no get")
      return
    }
    #expect(request.options.expiry == expiry)
  }

  @Test(arguments: [
    (#""delay_ms":-1,"#, "the delay must be at most one day"),
    (#""delay_ms":86400001,"#, "the delay must be at most one day"),
    ("", #""delay_ms" is missing"#),
    (#""delay_ms":0,"timeout_ms":0,"#, "the timeout must be from 1 ms to one day"),
    (#""delay_ms":0,"timeout_ms":86400001,"#, "the timeout must be from 1 ms to one day"),
  ])
  func `a delay or a timeout out of range is not decoded`(members: String, reason: String) throws {
    #expect(try error(of: get(members)).contains(reason))
  }

  @Test(arguments: [0, 250, 86_400_000] as [Int64])
  func `a delay of up to one day is decoded`(milliseconds: Int64) throws {
    guard case .get(_, let request) = try message(get(#""delay_ms":\#(milliseconds),"#)) else {
      Issue.record("no get")
      return
    }
    #expect(request.options.delay == .milliseconds(milliseconds))
    #expect(request.viewer == nil)
  }

  @Test(arguments: [
    #""change":"prioritise","priority":3"#, #""change":"prioritise""#, #""change":"retry""#,
    #""change":"explode""#, #""priority":1"#,
  ])
  func `an invalid change is not decoded`(members: String) {
    #expect(throws: MessageError.self) { try message(change(members)) }
  }
}
