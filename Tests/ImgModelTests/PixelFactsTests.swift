import FoundationEssentials
import ImgModel
import Testing

@Suite struct PixelFactsTests {
  private static let blurHash = "LIGY=sU|KJ$*|=JCOD,WR%S#A?E}"

  private func facts(_ palette: [PixelFacts.Colour]) throws -> PixelFacts? {
    PixelFacts(
      thumbHash: try #require(
        ThumbHash(bytes: [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19))),
      blurHash: try #require(BlurHash(Self.blurHash)), palette: palette)
  }

  private func colours(_ shares: Double...) -> [PixelFacts.Colour] {
    shares.map { PixelFacts.Colour(RGBColour(red: 1, green: 2, blue: 255), share: $0) }
  }

  // MARK: - BlurHash

  @Test func `a BlurHash of four by three frequencies is a text of 28 digits`() {
    #expect(BlurHash(Self.blurHash)?.text == Self.blurHash)
    for text in [
      "", String(Self.blurHash.dropLast()), Self.blurHash + "0", "M" + Self.blurHash.dropFirst(),
      Self.blurHash.dropLast() + "\"", Self.blurHash.dropLast() + "é",
      // An average of more than 24 bits, and a frequency of more than 19 steps a colour.
      "LI~~~~U|KJ$*|=JCOD,WR%S#A?E}", Self.blurHash.dropLast(2) + "~~",
    ] {
      #expect(BlurHash(String(text)) == nil, "\(text)")
    }
  }

  // MARK: - Colours

  @Test func `shares are those of at most six colours, the greatest first`() throws {
    #expect(try facts([])?.dominant == nil)
    #expect(try facts(colours(0.5, 0.3, 0.2))?.dominant?.cssText == "#0102ff")
    #expect(try facts(colours(0.3, 0.2, 0.2, 0.1, 0.1, 0.1)) != nil)
    for shares in [
      colours(0), colours(-0.1), colours(1.1), colours(.nan), colours(.infinity), colours(0.2, 0.3),
      colours(0.9, 0.9), colours(0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1),
    ] {
      #expect(try facts(shares) == nil, "\(shares)")
    }
  }

  // MARK: - JSON

  @Test func `facts of pixels come back from JSON, and the dominant colour stands out`() throws {
    let facts = try #require(try facts(colours(0.75, 0.25)))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(facts), as: UTF8.self)
    #expect(
      json == ##"{"blurhash":"\##(Self.blurHash)","dominant_colour":"#0102ff","palette":"##
        + ##"[{"colour":"#0102ff","share":0.75},{"colour":"#0102ff","share":0.25}],"##
        + ##""thumbhash":"IAgCBwAAAAAAAAAAAAAAAAAAAAAAAAAA"}"##)
    #expect(try decoded(json) == facts)
  }

  private func decoded(_ json: String) throws -> PixelFacts {
    try JSONDecoder().decode(PixelFacts.self, from: Data(json.utf8))
  }

  /// A picture may control its decoder.
  @Test(arguments: [
    ("IAgCBwAAAAAAAAAAAAAAAAAAAAAAAAAA", "IAgCBwAAAAAAAAAAAAAAAAAAAAAAAAA="),
    ("IAgCBwAAAAAAAAAAAAAAAAAAAAAAAAAA", "<script>"), ("LIGY", "<img"), ("#0102ff", "red"),
    ("0.75", "7"), ("0.75", "-1"), ("0.75", "1e400"), ("0.75", "null"),
  ])
  func `what is no hash, no colour or no share is refused`(text: String, lie: String) throws {
    let facts = try #require(try facts(colours(0.75)))
    let json = String(decoding: try JSONEncoder().encode(facts), as: UTF8.self)
    #expect(try decoded(json) == facts)
    let changed = json.replacing(text, with: lie)
    #expect(changed != json)
    // The dominant colour is the first of the palette, whatever else is said.
    #expect(throws: DecodingError.self) { try decoded(changed) }
  }

  // MARK: - Frames

  @Test func `delays are those of at most 65,536 frames, up to 25 days each`() throws {
    let pixels = try #require(try facts([]))
    let most = Array(repeating: Int(Int32.max), count: 65_536)
    for delays in [nil, [0], most] {
      #expect(PictureDescription(pixels: pixels, frameDelays: delays)?.frameDelays == delays)
    }
    for delays in [[], [-1], [Int(Int32.max) + 1], most + [1]] {
      #expect(PictureDescription(pixels: pixels, frameDelays: delays) == nil)
    }
  }
}
