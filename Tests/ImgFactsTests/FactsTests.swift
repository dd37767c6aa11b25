import FoundationEssentials
import TestPictures
import Testing

@testable import ImgFacts

/// What holds for every format.
@Suite struct FactsTests {
  @Test(arguments: Samples.all.keys.sorted(), FactsExtent.allCases)
  func `a beginning of a file gives the same facts, asks for bytes, or says that it is cut`(
    name: String, extent: FactsExtent
  ) throws {
    let file = try #require(Samples.all[name])
    let whole = try facts(of: file, extent)
    for count in 0..<file.count {
      let start = Array(file.prefix(count))
      do throws(FactsError) {
        let found = try PictureFacts.reading(WholeBytes(start), extent)
        #expect(found == whole, "\(count) bytes")
      } catch {
        #expect(error == .truncated, "\(count) bytes")
      }
      var bytes = PartialBytes()
      bytes.insert(start, at: 0)
      do throws(FactsError) {
        let found = try PictureFacts.reading(bytes, extent)
        #expect(found == whole, "\(count) bytes")
      } catch {
        guard case .needsBytes(let range) = error else {
          Issue.record("\(count) bytes: \(error)")
          continue
        }
        #expect(range.upperBound > count && range.upperBound <= file.count + 4_096)
      }
    }
  }

  @Test(arguments: Samples.all.keys.sorted())
  func `a larger extent adds facts and changes none`(name: String) throws {
    let file = try #require(Samples.all[name])
    let (header, all) = (try facts(of: file, .header), try facts(of: file, .all))
    #expect(header.width == all.width && header.height == all.height)
    #expect(header.orientation == all.orientation && header.bands == all.bands)
    #expect(header.colourModel == all.colourModel)
    // Where it is known.
    #expect(header.hasAlpha == nil || header.hasAlpha == all.hasAlpha)
    #expect(header.frameCount == nil || header.frameCount == all.frameCount)
  }

  @Test(arguments: Samples.all.keys.sorted())
  func `facts survive JSON`(name: String) throws {
    let found = try facts(of: try #require(Samples.all[name]))
    let json = try JSONEncoder().encode(found)
    #expect(try JSONDecoder().decode(PictureFacts.self, from: json) == found)
  }

  @Test func `JSON has keys with underscores, and none for what is unknown`() throws {
    let file = JPEGMaker.file(JPEGMaker.frame())
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(facts(of: file)), as: UTF8.self)
    #expect(
      json == """
        {"animated":false,"bands":3,"bits_per_sample":8,"colour_model":"ycbcr","encoding":"baseline",\
        "format":"jpeg","frame_count":1,"has_alpha":false,"height":48,"interlaced":false,\
        "media_type":"image/jpeg","orientation":1,"stored_height":48,"stored_width":64,"width":64}
        """)
  }

  @Test func `what is no picture is told from what is not whole`() {
    #expect(error(of: ascii("<html><body></body>")) == .notAnImage("the body is an HTML page"))
    #expect(error(of: ascii("%PDF-1.7")) == .unsupported("pdf is not read"))
    #expect(error(of: ascii("Not found")) == .notAnImage("the first bytes match no image format"))
    #expect(error(of: ascii("{}")) == .notAnImage("the body looks like JSON"))
    #expect(error(of: []) == .truncated)
    #expect(Fetch(zeros(100_000), .all).ranges == [0..<4_096])
  }

  @Test func `bytes that change at random end no process`() throws {
    var state: UInt64 = 1
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    for file in Samples.all.sorted(by: { $0.key < $1.key }).map(\.value) {
      for _ in 0..<100 {
        var copy = file
        for _ in 0...random(4) {
          copy[random(copy.count)] = [0, 0xFF, 0x7F, 0x80, UInt8(random(256))][random(5)]
        }
        for extent in FactsExtent.allCases { _ = error(of: copy, extent) }
        _ = try? Fetch.record(copy, .all)
      }
    }
  }
}

@Suite struct FactsQueryTests {
  @Test func `ranges grow fourfold from 4 KiB`() {
    // Segments of 60 KB, each of which a range must reach.
    let segments = [[UInt8]](repeating: JPEGMaker.segment(0xE5, zeros(60_000)), count: 40)
    let file = JPEGMaker.file(segments.flatMap { $0 }, JPEGMaker.frame())
    let fetch = Fetch(file, .header)
    #expect(fetch.facts?.width == 64)
    #expect(fetch.ranges.prefix(4).map(\.count) == [4_096, 16_384, 65_536, 262_144])
    #expect(fetch.ranges.count <= 6)
  }

  @Test func `no range goes behind the end of a file of known length`() {
    let fetch = Fetch(Samples.jpeg, .all)
    #expect(fetch.ranges == [0..<Samples.jpeg.count])
    #expect(Fetch([], .all).result == .failed(.truncated))
  }

  @Test func `a file that ends early has the facts of a smaller extent`() {
    // It ends within the segment of its XMP packet, behind the frame.
    let file = JPEGMaker.file(JPEGMaker.frame(), JPEGMaker.xmp(Samples.xmp))
    let fetch = Fetch(Array(file.prefix(100)), .all)
    guard case .facts(let facts, .header) = fetch.result else {
      Issue.record("\(fetch.result)")
      return
    }
    #expect(facts.width == 64)
  }

  @Test(arguments: [["Exif", "mime"], ["mime", "Exif"]])
  func `bytes that are at hand are not asked for again`(order: [String]) {
    // In one of the two orders the second item that is read lies before the first one.
    let metadata = [
      "Exif": ISOMaker.Item(id: 2, type: "Exif", data: big(0, 4) + Samples.exif),
      "mime": ISOMaker.Item(
        id: 3, type: "mime", data: ascii(Samples.xmp), mediaType: "application/rdf+xml"),
    ]
    let file = ISOMaker.file(
      items: [.init(id: 1, type: "av01", properties: [1, 2], data: zeros(10))]
        + order.compactMap { metadata[$0] },
      properties: [ISOMaker.size(64, 48), ISOMaker.av1()],
      references: [
        ISOMaker.reference("cdsc", from: 2, to: 1), ISOMaker.reference("cdsc", from: 3, to: 1),
      ], padding: 8_000)
    let fetch = Fetch(file, .metadata)
    #expect(fetch.facts?.exif != nil && fetch.facts?.xmp != nil)
    for (index, range) in fetch.ranges.enumerated() {
      let isRepeated = fetch.ranges[..<index].contains { $0.overlaps(range) }
      #expect(!isRepeated, "\(fetch.ranges)")
    }
  }

  @Test func `a file that is at hand as a whole is read to its end`() {
    let small = Fetch(Samples.gif, .metadata)
    #expect(small.facts?.frameCount == 3 && small.ranges.count == 1)
    // A defect behind the metadata does not matter to it.
    let cut = Fetch(Array(Samples.gif.dropLast()), .metadata)
    #expect(cut.facts?.frameCount == nil && cut.facts?.loopCount == 6)
    #expect(Fetch(Samples.gif, .header).facts?.frameCount == nil)
  }

  @Test func `a query ends even if nothing arrives`() {
    var query = FactsQuery(.all)
    var count = 0
    while case .fetch = query.next() { count += 1 }
    #expect(count == FactsQuery.maximumRangeCount)
  }

  @Test func `no more bytes are asked for than allowed`() {
    let file = JPEGMaker.file(
      [[UInt8]](repeating: JPEGMaker.segment(0xE5, zeros(60_000)), count: 100).flatMap { $0 })
    var query = FactsQuery(.header, byteCount: file.count, maximumByteCount: 20_000)
    while case .fetch(let range) = query.next() {
      query.insert(Array(file[range]), at: range.lowerBound)
    }
    #expect(query.bytes.heldByteCount == 20_480)
  }
}

@Suite struct ByteWindowTests {
  private let file = ByteWindow(WholeBytes(Array(0...9)))

  @Test func `a part has offsets of its own and ends where it ends`() throws {
    let part = file.part(at: 4, count: 3)
    #expect(try part.bytes(at: 0, count: 3) == [4, 5, 6])
    #expect(try part.bytes(at: 1, count: 3) == nil)
    #expect(try part.bytes(at: 2, upTo: 9) == [6])
    #expect(part.fileRange(at: 1, count: 2) == 5..<7)
    #expect(file.part(at: 2, count: 4).part(at: 3, count: 9).byteCount == 1)
    #expect(file.part(at: .max, count: .max).byteCount == 0)
    #expect(file.part(at: -1, count: 4).byteCount == 0)
  }

  @Test func `joined parts are one`() throws {
    let joined = try #require(
      ByteWindow(joining: [file.part(at: 7, count: 2), file.part(at: 1, count: 3)]))
    #expect(try joined.bytes(at: 1, count: 3) == [8, 1, 2])
    #expect(try joined.part(at: 1, count: 2).bytes(at: 0, count: 2) == [8, 1])
    #expect(joined.fileRange(at: 1, count: 2) == nil && joined.fileRange(at: 2, count: 2) == 1..<3)
    #expect(ByteWindow(joining: []) == nil)
  }

  @Test func `a read behind the end of the file says that it is cut`() {
    #expect(throws: FactsError.truncated) { try file.bytes(at: 9, count: 2) }
    #expect(throws: FactsError.truncated) { try file.bytes(at: .max, count: .max) }
    #expect(throws: FactsError.invalid("a part of the file is shorter than its header")) {
      try file.part(at: 0, count: 4).fields(at: 2, count: 3)
    }
  }

  @Test func `what is missing is asked for`() {
    var bytes = PartialBytes()
    bytes.insert([1, 2], at: 0)
    let window = ByteWindow(bytes).part(at: 1, count: 100)
    #expect(throws: FactsError.needsBytes(1..<9)) { try window.bytes(at: 0, count: 8) }
  }

  @Test func `numbers are read in both orders, and are 0 behind the end`() {
    let fields = BinaryFields([1, 2, 3, 4, 5, 6, 7, 8])
    #expect(fields.u16(0) == 0x0102 && fields.u24(1) == 0x020304 && fields.u32(4) == 0x0506_0708)
    let little = BinaryFields([1, 2, 3, 4], .littleEndian)
    #expect(little.u16(0) == 0x0201 && little.u32(0) == 0x0403_0201 && little.u16(3) == 4)
    #expect(fields.u8(8) == 0 && fields.u8(-1) == 0)
    #expect(BinaryFields([UInt8](repeating: 0xFF, count: 8)).u64(0) == .max)
  }
}

@Suite struct PartialBytesTests {
  @Test func `parts that touch or overlap become one`() {
    var bytes = PartialBytes()
    bytes.insert([3, 4], at: 3)
    bytes.insert([7, 8], at: 7)
    bytes.insert([0, 1], at: 0)
    #expect(bytes.heldByteCount == 6)
    #expect(bytes.bytes(in: 3..<5) == [3, 4] && bytes.bytes(in: 2..<4) == nil)
    #expect(bytes.missing(in: 0..<9) == 2..<3)
    #expect(bytes.missing(in: 3..<9) == 5..<7)
    #expect(bytes.missing(in: 3..<5) == nil && bytes.missing(in: 8..<12) == 9..<12)
    bytes.insert([1, 2, 3, 4, 5, 6, 7], at: 1)
    #expect(bytes.bytes(in: 0..<9) == Array(0...8))
    #expect(bytes.missing(in: 0..<9) == nil)
  }

  @Test func `a part around others takes them in`() {
    var bytes = PartialBytes()
    for offset in [2, 5, 8] { bytes.insert([UInt8(offset)], at: offset) }
    bytes.insert(Array(0...9), at: 0)
    #expect(bytes.bytes(in: 0..<10) == Array(0...9))
  }

  @Test func `nothing lies behind the end of the file`() {
    var bytes = PartialBytes(byteCount: 4)
    bytes.insert([2, 3, 4, 5], at: 2)
    #expect(bytes.heldByteCount == 2 && bytes.bytes(in: 2..<5) == nil)
    bytes.insert([9], at: 4)
    bytes.insert([9], at: -1)
    bytes.insert([9], at: .max)
    #expect(bytes.heldByteCount == 2)
    bytes.setByteCount(3)
    #expect(bytes.heldByteCount == 1 && bytes.bytes(in: 2..<3) == [2])
    bytes.setByteCount(1)
    #expect(bytes.heldByteCount == 0 && bytes.knownByteCount == 1)
  }
}

/// Delays in whole units.
struct FrameDelayTests {
  @Test(arguments: [(1, [42, 41, 42, 42, 42, 41]), (10, [40, 40, 50, 40, 40, 40])])
  func `what one delay loses, the next one gains`(unit: Int, rounded: [Int]) {
    // Films at 24,000 frames in 1,001 seconds.
    let delays = [Double](repeating: 1_001_000 / 24_000, count: 6)
    #expect(FrameDelay.rounded(delays, toMultiplesOf: unit) == rounded)
  }

  @Test(arguments: [1, 10])
  func `all together last as long as before, to half a unit`(unit: Int) {
    let delays = (0..<95).map { 30 + Double($0 * 7_919 % 1_000) / 37 }
    let rounded = FrameDelay.rounded(delays, toMultiplesOf: unit)
    for count in 1...delays.count {
      let drift = Double(rounded[..<count].reduce(0, +)) - delays[..<count].reduce(0, +)
      #expect(abs(drift) <= Double(unit) / 2)
    }
  }

  @Test(arguments: [(1, 11), (10, 20)])
  func `no delay becomes so short that it is ignored`(unit: Int, shortest: Int) {
    let rounded = FrameDelay.rounded([10.4, 10.4, 10.4], toMultiplesOf: unit)
    #expect(rounded == [shortest, shortest, shortest])
    #expect(FrameDelay.played(shortest) == shortest)
  }

  @Test func `what short delays have gained, a longer one loses`() {
    #expect(FrameDelay.rounded([11, 11, 100], toMultiplesOf: 10) == [20, 20, 80])
  }

  @Test func `no delay becomes longer than when it is rounded up by itself`() {
    let longest = Double(Int32.max)
    #expect(
      FrameDelay.rounded([33.499_999_99, longest], toMultiplesOf: 1) == [33, Int(Int32.max)])
  }

  @Test func `a delay that is ignored stays one, and changes no other`() {
    #expect(FrameDelay.rounded([33.4, 9.6, 33.4, 0], toMultiplesOf: 1) == [33, 10, 34, 0])
  }
}

/// Whether a picture can be shown before its end.
struct PreviewProspectTests {
  private func prospect(
    _ bytes: some Collection<UInt8>, shownByteCount: Int = 0, includingRows: Bool = false
  ) -> PreviewProspect {
    let bytes = Array(bytes)
    return PreviewProspect(
      of: bytes.span, shownByteCount: shownByteCount, includingRows: includingRows)
  }

  private func scene(_ format: PictureFormat) throws -> [UInt8] {
    try PictureMaker.start().scene(width: 64, height: 48, format: format)
  }

  @Test func `each scan of a progressive JPEG counts once a marker follows it`() throws {
    let jpeg = try scene(.progressiveJPEG)
    let scans = jpeg.indices.dropLast().filter { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDA }
    try #require(scans.count > 3)
    #expect(prospect(jpeg[..<(scans[0] + 20)]) == .later)
    for (count, scan) in scans.enumerated().dropFirst() {
      guard case .now(let byteCount) = prospect(jpeg[..<(scan + 2)]) else {
        Issue.record("scan \(count) does not count")
        continue
      }
      #expect(byteCount > scans[count - 1] && byteCount <= scan)
      #expect(jpeg[byteCount] == 0xFF, "the scan ends where a marker begins")
      // The marker alone completes it.
      #expect(prospect(jpeg[..<(byteCount + 1)]) != .now(byteCount: byteCount))
      #expect(prospect(jpeg[..<(byteCount + 2)]) == .now(byteCount: byteCount))
    }
    #expect(prospect(jpeg) == .now(byteCount: jpeg.count - 2))
  }

  @Test func `a marker inside a segment is no scan`() throws {
    let jpeg = try scene(.progressiveJPEG)
    let segment: [UInt8] = [0xFF, 0xED, 0, 6, 0xFF, 0xDA, 0xFF, 0xDA]
    let first = try #require(
      jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDA })
    #expect(prospect(jpeg[..<2] + segment + jpeg[2..<(first + 2)]) == .later)
  }

  @Test func `interlaced PNG and GIF are shown at once, others never`() throws {
    #expect(try prospect(scene(.gif)[..<40]) == .now(byteCount: 40))
    let png = try scene(.interlacedPNG)
    #expect(prospect(png) == .now(byteCount: png.count))
    for format in [PictureFormat.jpeg, .png, .webp, .tiff, .avif, .bmp, .pnm, .jxl] {
      #expect(try prospect(scene(format)) == .none, "\(format)")
    }
  }

  @Test func `a baseline JPEG is shown where its first rows are wanted`() throws {
    let jpeg = try scene(.jpeg)
    #expect(prospect(jpeg[..<20], includingRows: true) == .later)
    #expect(prospect(jpeg[..<700], includingRows: true) == .now(byteCount: 700))
    #expect(prospect(jpeg[..<700], shownByteCount: 700, includingRows: true) == .later)
    #expect(try prospect(scene(.png), includingRows: true) == .none)
  }

  @Test func `a JPEG is shown again once it has a further scan`() throws {
    let jpeg = try scene(.progressiveJPEG)
    guard case .now(let byteCount) = prospect(jpeg[..<(jpeg.count / 2)]) else {
      Issue.record("half of the scans show nothing")
      return
    }
    #expect(prospect(jpeg[..<(jpeg.count / 2)], shownByteCount: byteCount) == .later)
    #expect(prospect(jpeg, shownByteCount: byteCount) == .now(byteCount: jpeg.count - 2))
  }

  @Test func `a GIF is not shown again once its first frame is`() throws {
    let gif = try scene(.gif)
    let frameEnd = gif.count - 1
    #expect(prospect(gif[..<frameEnd]) == .now(byteCount: frameEnd))
    let longer = gif.dropLast() + [UInt8](repeating: 0x21, count: 1_000)
    #expect(prospect(longer) == .now(byteCount: frameEnd))
    #expect(prospect(longer, shownByteCount: frameEnd - 1) == .now(byteCount: frameEnd))
    #expect(prospect(longer, shownByteCount: frameEnd) == .none)
  }

  @Test func `too few bytes decide nothing`() throws {
    #expect(prospect([]) == .later)
    #expect(try prospect(scene(.interlacedPNG)[..<28]) == .later)
    #expect(try prospect(scene(.progressiveJPEG)[..<20]) == .later)
  }
}
