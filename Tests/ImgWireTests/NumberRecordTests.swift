import ImgModel
import Testing

@testable import ImgWire

/// The messages for each picture, which are lists of numbers.
@Suite struct NumberRecordTests {
  private func payload(_ message: some WireMessage) throws -> ArraySlice<UInt8> {
    try WireCoding.frame(message).dropFirst(Frame.headerByteCount)
  }

  private static let facts = RenderedFacts(
    thumbnails: [
      Thumbnail(format: .webp, width: 256, height: 171, byteCount: 9_182, isDamaged: true)
    ],
    source: SourceFacts(
      format: .jp2, width: 4_000, height: 3_000, frames: 330, decodePath: .planar),
    thumbHash: GoldenMessages.thumbHash)

  @Test func `numbers are 8 bytes each, little-endian, behind a byte 0`() {
    let payload = NumberRecord.encode([1, 0x0102_0304_0506_0708])
    #expect(payload == [0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1])
    #expect(NumberRecord.decode(payload[...]) == [1, 0x0102_0304_0506_0708])
    #expect(NumberRecord.decode(payload.dropLast()) == nil)
  }

  @Test(arguments: DecodeRequest.Output.allCases)
  func `a request says what becomes of its picture`(output: DecodeRequest.Output) throws {
    let order = DecoderOrder.decode(
      DecodeRequest(
        picture: 1, variants: [.standard], isLenient: false, output: output, byteCount: 9))
    #expect(try WireCoding.message(DecoderOrder.self, from: payload(order)) == order)
  }

  @Test(arguments: Variant.Mode.allCases, Variant.Format.allCases)
  func `a request comes back as it was sent`(mode: Variant.Mode, format: Variant.Format) throws {
    let variant = try Variant(
      width: 16_383, height: 1, mode: mode, crop: mode.coversBox ? .entropy : nil, format: format,
      quality: 100)
    let order = DecoderOrder.decode(
      DecodeRequest(
        picture: .max, variants: [variant], isLenient: mode == .fit, byteCount: 81_920))
    #expect(try WireCoding.message(DecoderOrder.self, from: payload(order)) == order)
  }

  @Test func `every part of a variant comes back as it was sent`() throws {
    let frames: [FrameSelection] = [.first, .number(999_999), .time(86_400_000), .poster, .all]
    let crops: [Crop?] = [
      nil, .centre, .attention, .entropy, .point(x: .one, y: Thousandths(count: 7)),
    ]
    let uses = EmbeddedUse.allCases
    for index in 0..<frames.count {
      let variant = try Variant(
        width: 1, height: 2, mode: .fill, crop: crops[index], enlarges: index % 2 == 0,
        frames: frames[index], embeddedUse: uses[index % uses.count],
        effects: Effects(
          isGrayscale: index == 1, blur: Thousandths(count: index), sharpen: .one,
          sharpenAmounts: SharpenAmounts(flat: .one, edges: Thousandths(count: index)),
          radius: index,
          background: index == 3 ? nil : RGBColour(red: 1, green: 2, blue: UInt8(index))),
        keptData: KeptData(
          profile: index % 2 == 0, metadata: index > 2, copyright: index == 1),
        sizing: Sizing(
          density: Thousandths(count: 500 + index), maximumPixelCount: index == 0 ? nil : index,
          keepsDrawingSize: index == 2))
      let order = DecoderOrder.decode(
        DecodeRequest(picture: 1, variants: [variant], isLenient: false, byteCount: 3))
      #expect(try WireCoding.message(DecoderOrder.self, from: payload(order)) == order)
    }
  }

  @Test func `a report comes back as it was sent`() throws {
    let report = DecoderReport.decoded(Self.facts, picture: 7)
    #expect(
      try payload(report)
        == NumberRecord.encode([
          7, 9, 0, 4_000, 3_000, 330, 24, 0x07_0208_20, 0, 0, 0, 2, 1, 256, 171, 9_182,
        ])[...])
    #expect(try WireCoding.message(DecoderReport.self, from: payload(report)) == report)
  }

  @Test func `requests and reports have as many thumbnails as variants, one to eight`() throws {
    let thumbnail = Self.facts.thumbnails[0]
    for count in 0...9 {
      let variants = try (0..<count).map { try Variant(width: 10 + $0, height: 10) }
      let request = DecodeRequest(
        picture: 1, variants: variants, isLenient: false, byteCount: 3)
      let facts = RenderedFacts(
        thumbnails: Array(repeating: thumbnail, count: count), source: Self.facts.source,
        thumbHash: Self.facts.thumbHash)
      let isValid = (1...8).contains(count)
      #expect((DecoderOrder(numbers: request.numbers) == .decode(request)) == isValid)
      #expect((RenderedFacts(numbers: facts.numbers) == facts) == isValid)
    }
  }

  /// Sizes are checked by the receiver, which knows the limits: a picture may control its decoder.
  @Test(arguments: 0..<20, [UInt64.max, 1 << 63, 1 << 40])
  func `a number that no format, mode, variant or mark has is no message`(
    index: Int, number: UInt64
  ) throws {
    var report = [7] + Self.facts.numbers
    if index < report.count {
      report[index] = number
      // The last byte of the hash has an unused half.
      let isValid = index == 9 ? number == 1 << 40 : [0, 3, 4, 5, 8, 13, 14, 15].contains(index)
      #expect((DecoderReport(numbers: report) != nil) == isValid)
    }
    var request = DecodeRequest(
      picture: 7, variants: [.standard], isLenient: false, byteCount: 10
    ).numbers
    request[index] = number
    #expect((DecoderOrder(numbers: request) != nil) == (index < 2))
  }

  @Test func `a ThumbHash comes back as it was sent, and none other is taken`() throws {
    let numbers = [7] + Self.facts.numbers
    let hash = 6..<11
    for (index, number) in [
      // Its length, a shape of no frequencies, bytes behind its end.
      (hash.lowerBound, 23), (hash.lowerBound, 25), (hash.lowerBound, 0), (hash.lowerBound, 26),
      (hash.lowerBound + 1, 0x0208_20), (hash.lowerBound + 1, 0x02_0208_20),
      (hash.upperBound - 1, 1),
    ] as [(Int, UInt64)] {
      var report = numbers
      report[index] = number
      #expect(DecoderReport(numbers: report) == nil, "\(index) \(number)")
    }
    let bytes = Self.facts.thumbHash.bytes.prefix(5) + (5..<24).map { UInt8($0 * 10) }
    let other = RenderedFacts(
      thumbnails: Self.facts.thumbnails, source: Self.facts.source,
      thumbHash: try #require(ThumbHash(bytes: Array(bytes.dropLast() + [7]))))
    let report = DecoderReport.decoded(other, picture: 7)
    #expect(try WireCoding.message(DecoderReport.self, from: payload(report)) == report)
  }

  @Test func `sizes below 0 stay below 0`() throws {
    let order = DecoderOrder.decode(
      DecodeRequest(picture: 1, variants: [.standard], isLenient: false, byteCount: -5))
    #expect(try WireCoding.message(DecoderOrder.self, from: payload(order)) == order)
  }

  @Test func `a record of another length is no message`() {
    for numbers in [[], [7], [7] + Self.facts.numbers + [0]] {
      #expect(DecoderReport(numbers: numbers) == nil)
      #expect(DecoderOrder(numbers: numbers) == nil)
    }
    #expect(throws: MessageError.self) {
      try WireCoding.message(CoordinatorReply.self, from: NumberRecord.encode([7])[...])
    }
  }
}
