import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

/// Whether a file has the pixels that it declares.
@Suite struct PixelEvidenceTests {
  /// The facts of everything in a file whose last bytes are missing.
  private func record(_ file: [UInt8], without count: Int = 0) throws -> FactsRecord {
    try Fetch.record(Array(file.dropLast(count)), .all)
  }

  private static let raster = Raster(width: 20, height: 10) { x, _ in
    Raster.Pixel(UInt8(x), 2, 3)
  }

  /// Pages of ten bytes each, behind the directories.
  private static func tiff(pageCount: Int = 1, compression: Int = 1) -> [UInt8] {
    let start = 8 + pageCount * (6 + 5 * 12)
    let pages = (0..<pageCount).map { page in
      [
        TIFFMaker.Entry.short(256, 20), .short(257, 4), .short(259, compression),
        .long(273, start + 10 * page), .long(279, 10),
      ]
    }
    return TIFFMaker.file(pages, chained: pageCount) + zeros(10 * pageCount)
  }

  /// An animation of three frames of ten bytes each, behind the boxes.
  private static let sequence = {
    let type = ISOMaker.fileType("avis", "msf1")
    let movie = { (start: Int) in
      let samples = (0..<3).map { start + $0 * 10..<start + $0 * 10 + 10 }
      return ISOMaker.movie(runs: [(3, 60)], repeats: 0, samples: samples)
    }
    let start = type.count + movie(0).count + 8
    return type + movie(start) + ISOMaker.box("mdat", zeros(30))
  }()

  /// Files that end with what they declare.
  private static let files: [String: [UInt8]] = [
    "bitmap": BitmapWriter(.info, .indexes(8)).file(raster),
    "bitmap with a profile": Samples.bmp, "icon": Samples.icon,
    "graymap": ascii("P5 20 10 255\n") + zeros(200),
    "floatmap": ascii("PF 20 10 -1\n") + zeros(2_400),
    "TIFF": tiff(), "AVIF": Samples.avif,
    "JPEG 2000": Samples.codestream + [0xFF, 0xD9],
    "JPEG 2000 in boxes": ISOMaker.jp2(Samples.codestream + [0xFF, 0xD9]),
  ]

  @Test(arguments: files.keys.sorted())
  func `a file that ends before what it declares is truncated, unless a decoder reads it`(
    name: String
  ) throws {
    let file = try #require(Self.files[name])
    let whole = try record(file)
    #expect(whole.status == .complete && !whole.awaitsDecoder)
    let cut = try record(file, without: 1)
    #expect(cut.status == .truncated && cut.awaitsDecoder)
    #expect(cut.facts == whole.facts)
    // How long it is shows at its end, too.
    let unmeasured = try FactsQuery.record(.all, byteCount: nil) { range in
      Array(file[range.clamped(to: 0..<file.count)])
    }
    #expect(unmeasured.status == .complete && unmeasured.byteCount == file.count)
  }

  @Test func `what shows no end is left to a decoder`() throws {
    let runs = BitmapWriter(.info, .runs(8)).file(Self.raster)
    let files = [
      // The mark of the end is missing, or too far in front of it.
      Array(Samples.jpeg.dropLast()), Samples.jpeg + zeros(5_000), Array(Samples.svg.dropLast()),
      Samples.svg + ascii("<!-- an end -->"), runs, ascii("P2 1 1 255\n7\n"),
      [0xFF, 0x0A, 0b1100_0001, 0b11] + zeros(8), Samples.avif + zeros(9),
      Self.tiff(compression: 6),
    ]
    for (index, file) in files.enumerated() {
      let record = try record(file)
      #expect(record.status == .limited && record.awaitsDecoder, "\(index)")
    }
    for file in [Samples.jpeg, Samples.jpeg + zeros(4_000), Samples.svg + ascii(" \n")] {
      let record = try record(file)
      #expect(record.status == .complete && !record.awaitsDecoder)
    }
  }

  @Test func `a box of JPEG XL that is cut needs no decoder`() throws {
    #expect(try record(Samples.jxl).status == .complete)
    let cut = try record(Samples.jxl, without: 1)
    #expect(cut.status == .truncated && !cut.awaitsDecoder)
    // The last part of the codestream is missing.
    let part = ISOMaker.box("jxlp", zeros(4) + [0xFF, 0x0A, 0b1100_0001, 0b11] + zeros(8))
    let start = Array(Samples.jxl.prefix(12)) + ISOMaker.fileType("jxl ", "jxl ") + part
    #expect(try record(start).awaitsDecoder)
    let rest = ISOMaker.box("jxlp", [0x80, 0, 0, 1] + zeros(8))
    #expect(try record(start + rest).status == .complete)
  }

  @Test func `an animation and pages that are cut need no decoder`() throws {
    #expect(try record(Self.sequence).status == .complete)
    let cut = try record(Self.sequence, without: 1)
    #expect(cut.status == .truncated && !cut.awaitsDecoder && cut.facts.frameCount == 3)
    let pages = Self.tiff(pageCount: 2)
    #expect(try record(pages).status == .complete)
    let cutPages = try record(pages, without: 1)
    #expect(cutPages.status == .truncated && !cutPages.awaitsDecoder)
    #expect(cutPages.facts.frameCount == 2)
    #expect(try record(pages, without: 11).awaitsDecoder)
  }

  @Test func `a still that lacks its last mark is left to a decoder`() throws {
    let gif = try record(GIFMaker.file(GIFMaker.loop(0), GIFMaker.frame()), without: 1)
    #expect(gif.status == .truncated && gif.awaitsDecoder)
    #expect(try record(GIFMaker.file(GIFMaker.frame()), without: 2).awaitsDecoder == false)
    let text = PNGMaker.chunk("tEXt", zeros(20))
    let png = PNGMaker.file([PNGMaker.chunk("IDAT", zeros(20)), text])
    // In the pixels, and in front of what follows them, but not in that.
    for (count, awaitsDecoder) in [(12 + 32 + 5, true), (12 + 32, true), (12 + 5, false)] {
      let cut = try record(png, without: count)
      #expect(cut.status == .truncated && cut.awaitsDecoder == awaitsDecoder, "\(count)")
    }
    #expect(try record(Samples.png, without: 15).awaitsDecoder == false)
  }

  @Test func `the pixels count with all facts alone, and within the limit of ranges`() throws {
    let cut = Array(Self.tiff().dropLast())
    #expect(try Fetch.record(cut + zeros(5_000), .metadata).status == .complete)
    var query = FactsQuery(.all, byteCount: 1 << 20)
    query.insert(Samples.jpeg, at: 0)
    guard case .fetch(let end) = query.next() else {
      Issue.record("the end is not looked at")
      return
    }
    #expect(end.upperBound == 1 << 20 && end.count <= 1 << 14)
    query.endFetching()
    guard case .facts(let facts, _) = query.next() else {
      Issue.record("there are no facts")
      return
    }
    let record = query.record(of: facts)
    #expect(record.status == .limited && !record.awaitsDecoder)
  }

  @Test func `a decoder has the last word`() throws {
    let whole = try record(Samples.jpeg)
    let cut = try record(Samples.jpeg, without: 1)
    let animation = try record([0xFF, 0x0A, 0x40, 0x03, 0x76, 0x08, 0x02] + zeros(40))
    let corrupt = Failure(stage: .decode, code: .corruptImage, detail: "cut")
    let refused = Failure(stage: .decode, code: .unsupportedFormat, detail: "not allowed")
    let verdict = { (record: FactsRecord, described: Result<PictureDescription, Failure>) in
      record.with(described, declaredType: nil).status
    }
    #expect(verdict(whole, .failure(corrupt)) == .damaged)
    #expect(verdict(whole, .failure(refused)) == .complete)
    #expect(verdict(cut, .failure(corrupt)) == .truncated)
    #expect(verdict(cut, .failure(refused)) == .limited)
    let description = try Self.description()
    #expect(verdict(cut, .success(description)) == .complete)
    #expect(cut.with(.success(description), showsPixels: false, declaredType: nil).pixels == nil)
    // A decoder that counts no frames of an animation has not found the last one.
    #expect(animation.facts.isAnimated == true)
    #expect(verdict(animation, .success(description)) == .truncated)
    let counted = try Self.description(frameDelays: [100, 100])
    #expect(verdict(animation, .success(counted)) == .complete)
  }

  private static func description(frameDelays: [Int]? = nil) throws -> PictureDescription {
    let thumbHash = try #require(ThumbHash(bytes: [32, 8, 2, 7, 0] + zeros(19)))
    let blurHash = try #require(BlurHash("LIGY=sU|KJ$*|=JCOD,WR%S#A?E}"))
    let pixels = try #require(PixelFacts(thumbHash: thumbHash, blurHash: blurHash, palette: []))
    return try #require(PictureDescription(pixels: pixels, frameDelays: frameDelays))
  }
}
