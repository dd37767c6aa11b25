import FoundationEssentials
import ImgModel
import Testing

@Suite struct FailureTests {
  @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
  func `a temporary status is retryable`(status: Int) {
    #expect(Failure.Code.httpStatus.isRetryable(httpStatus: status))
  }

  @Test(arguments: [400, 401, 403, 404, 410, 451])
  func `a permanent status is not retryable`(status: Int) {
    #expect(!Failure.Code.httpStatus.isRetryable(httpStatus: status))
  }

  @Test func `a long detail is truncated`() {
    let failure = Failure(
      stage: .fetch, code: .internal, detail: String(repeating: "x", count: 10_000))
    #expect(failure.detail.utf8.count == Failure.maximumDetailByteCount)
  }

  /// What `printable` replaces, one of each kind: C0, DEL, C1, a separator, bidirectional controls.
  static let obeyed = [
    "\u{1B}]0;x\u{07}", "\r\n", "\u{7F}", "\u{9B}31m", "\u{2028}", "\u{202E}", "\u{2066}",
  ]

  @Test(arguments: obeyed)
  func `a detail has nothing that a terminal would obey`(text: String) throws {
    let made = Failure(stage: .fetch, code: .invalidResponse, detail: "a\(text)é")
    #expect(made.detail.unicodeScalars.allSatisfy { $0.isPrintable })
    #expect(made.detail.hasPrefix("a\u{FFFD}") && made.detail.hasSuffix("é"))
    // As a peer may send it.
    let detail = String(decoding: try JSONEncoder().encode("a\(text)é"), as: UTF8.self)
    let sent = String(decoding: try JSONEncoder().encode(made), as: UTF8.self)
      .replacing("\"\(made.detail)\"", with: detail)
    #expect(try JSONDecoder().decode(Failure.self, from: Data(sent.utf8)) == made)
  }

  @Test(arguments: obeyed)
  func `JSON for terminals is escaped, and says the same`(text: String) throws {
    let encoded = String(decoding: try JSONEncoder().encode([text]), as: UTF8.self)
    let escaped = encoded.escapedForTerminals
    #expect(escaped.unicodeScalars.allSatisfy { $0.isPrintable })
    #expect(try JSONDecoder().decode([String].self, from: Data(escaped.utf8)) == [text])
  }

  @Test func `a text of several lines keeps its line feeds`() {
    #expect("a\u{9B}\nb\r\n\n".printableLines == "a\u{FFFD}\nb\u{FFFD}\n\n")
    #expect("ünï — 字 👩‍👩‍👧".printable == "ünï — 字 👩‍👩‍👧")
  }

  @Test(arguments: [
    ("/srv/a-b_c.d", "/srv/a-b_c.d"), ("my pictures", "'my pictures'"), ("", "''"),
    ("it's", #"'it'\''s'"#), ("$HOME", "'$HOME'"), ("a\nb", "'a\nb'"), ("~x", "'~x'"),
  ])
  func `a text is one word of a shell`(text: String, word: String) {
    #expect(text.shellWord == word)
  }
}

@Suite struct ThumbnailTests {
  private let whole = Thumbnail(format: .jpeg, width: 64, height: 48, byteCount: 700)
  private let damaged = Thumbnail(
    format: .jpeg, width: 64, height: 48, byteCount: 700, isDamaged: true)

  @Test func `only the JSON of a damaged one says so`() throws {
    #expect(try json(of: whole) == #"{"bytes":700,"format":"jpeg","height":48,"width":64}"#)
    #expect(
      try json(of: damaged)
        == #"{"bytes":700,"damaged":true,"format":"jpeg","height":48,"width":64}"#)
    for thumbnail in [whole, damaged] {
      let data = Data(try json(of: thumbnail).utf8)
      #expect(try JSONDecoder().decode(Thumbnail.self, from: data) == thumbnail)
    }
  }

  @Test func `a damaged one answers only lenient requests`() {
    #expect(whole.answers(isLenient: false))
    #expect(whole.answers(isLenient: true))
    #expect(!damaged.answers(isLenient: false))
    #expect(damaged.answers(isLenient: true))
  }

  private func json(of thumbnail: Thumbnail) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(thumbnail), as: UTF8.self)
  }
}

@Suite struct ThumbHashTests {
  /// A picture of 30 × 20 pixels with transparency, a portrait, a square.
  private static let samples = [
    "5ff8810b82176912337760bc5c3f68cf26076766778867",
    "5ef80515043443405447855887837778ff79aafaaf",
    "1f0802070055455656678676767665057829ffce4976860f",
  ]

  private func bytes(_ digits: String) -> [UInt8] {
    let digits = Array(digits)
    return stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(digits[$0...$0 + 1]), radix: 16)
    }
  }

  @Test(arguments: samples)
  func `a ThumbHash has exactly the bytes that its head tells of`(digits: String) throws {
    let bytes = bytes(digits)
    #expect(ThumbHash(bytes: bytes)?.bytes == bytes)
    #expect(ThumbHash(bytes: bytes + [0]) == nil)
    for count in bytes.indices { #expect(ThumbHash(bytes: Array(bytes.prefix(count))) == nil) }
  }

  @Test func `a ThumbHash has at least one frequency a side, and not more than its kind allows`() {
    for (transparency, longest) in [(0, 7), (0x80, 5)] as [(UInt8, UInt8)] {
      for orientation in [0, 0x80] as [UInt8] {
        for side in 0...7 as ClosedRange<UInt8> {
          let head = [0, 0, transparency, side, orientation]
          let isShape = (1...longest).contains(side)
          let lengths = (0...40).filter {
            ThumbHash(bytes: head + [UInt8](repeating: 0, count: $0)) != nil
          }
          #expect(lengths.count == (isShape ? 1 : 0), "\(head) \(lengths)")
        }
      }
    }
  }

  @Test func `no ThumbHash is longer than the room for it`() {
    for side in 1...7 as ClosedRange<UInt8> {
      for orientation in [0, 0x80] as [UInt8] {
        for transparency in [0, 0x80] as [UInt8] {
          let head = [0, 0, transparency, side, orientation]
          for count in ThumbHash.maximumByteCount - 4...64 {
            #expect(ThumbHash(bytes: head + [UInt8](repeating: 0, count: count)) == nil)
          }
        }
      }
    }
  }

  @Test func `the unused half of the last byte is empty`() {
    // A square has 27 frequencies of luminance, and two times five of colour.
    let bytes: [UInt8] = [0, 0, 0, 7, 0] + Array(repeating: 0xFF, count: 18)
    #expect(ThumbHash(bytes: bytes + [0x0F]) != nil)
    #expect(ThumbHash(bytes: bytes + [0x10]) == nil)
  }

  @Test(arguments: samples)
  func `a ThumbHash is base64 text in JSON`(digits: String) throws {
    let hash = try #require(ThumbHash(bytes: bytes(digits)))
    let json = try JSONEncoder().encode([hash])
    let texts = try JSONDecoder().decode([String].self, from: json)
    #expect(texts == [hash.text] && Data(base64Encoded: hash.text) == Data(hash.bytes))
    #expect(try JSONDecoder().decode([ThumbHash].self, from: json) == [hash])
    for text in [#"[""]"#, #"["AAAA"]"#, #"["?"]"#, "[7]"] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode([ThumbHash].self, from: Data(text.utf8))
      }
    }
  }
}

@Suite struct PixelFactsTests {
  private static let blurHash = "LIGY=sU|KJ$*|=JCOD,WR%S#A?E}"

  private func facts(_ palette: [PixelFacts.Colour]) throws -> PixelFacts? {
    PixelFacts(
      thumbHash: try #require(ThumbHash(bytes: [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19))),
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

struct SandboxReportTests {
  private let complete = SandboxReport(
    hasNoNewPrivileges: true, isNotDumpable: true, hasSystemCallFilter: true,
    landlockVersion: 7, hasOwnNetwork: true)

  @Test func `a complete sandbox is a list of its protections`() {
    #expect(complete.missing.isEmpty)
    #expect(complete.description == "seccomp, Landlock 7, own network, no_new_privs, not dumpable")
  }

  @Test func `a network namespace is not essential`() {
    var report = complete
    report.hasOwnNetwork = false
    #expect(report.missing.isEmpty)
    #expect(report.description == "seccomp, Landlock 7, no_new_privs, not dumpable")
  }

  @Test func `what the kernel lacks is named`() {
    var report = complete
    report.landlockVersion = nil
    #expect(report.missing == ["Landlock"])
    #expect(
      report.description
        == "seccomp, own network, no_new_privs, not dumpable; the kernel lacks Landlock")
  }

  @Test func `a process without protections says so`() {
    #expect(
      SandboxReport().description
        == "none; the kernel lacks no_new_privs and system call filters (seccomp) and Landlock")
  }
}

@Suite struct NetworkRangeTests {
  @Test func `a block contains its addresses and no others`() throws {
    let block = try #require(NetworkRange(bytes: [10, 1, 2, 3], prefixLength: 12))
    #expect(block.bytes == [10, 0, 0, 0])
    #expect(block.contains([10, 15, 255, 255]))
    #expect(!block.contains([10, 16, 0, 0]))
    #expect(!block.contains([UInt8](repeating: 10, count: 16)))
  }

  @Test func `an invalid address or prefix is refused`() {
    #expect(NetworkRange(bytes: [1, 2, 3], prefixLength: 8) == nil)
    #expect(NetworkRange(bytes: [1, 2, 3, 4], prefixLength: 33) == nil)
    #expect(NetworkRange(bytes: [1, 2, 3, 4], prefixLength: -1) == nil)
  }
}
