import ImgFacts
import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// What a thumbnail keeps of its file beside the pixels.
@Suite(.timeLimit(.minutes(20))) struct KeptDataTests {
  private let fixture = ThumbnailFixture()

  private static let xmp = """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF \
    xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" \
    xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4"/></rdf:RDF></x:xmpmeta>
    """

  /// A JPEG that stands on its side, with a profile of Display P3 and XMP.
  private func file() throws -> [UInt8] {
    let card = try fixture.maker.card(
      index: 1, format: .jpeg, profile: ColourProfile.rgb(primaries: .displayP3, curve: .sRGB))
    let xmp = Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(Self.xmp.utf8)
    let labelled = JPEGSegments.insert(xmp, marker: 0xE1, into: card)
    return EXIFSegment.insert(orientation: 6, into: labelled)
  }

  private func facts(
    _ format: ImageVariant.Format, _ kept: ImageVariant.KeptData, of file: [UInt8]? = nil
  ) throws -> PictureFacts {
    let variant = try Variant(ImageVariant(width: 100, height: 100, format: format, keptData: kept))
    let made = try fixture.thumbnailer.thumbnail(of: file ?? self.file(), as: variant)
    return try PictureFacts.reading(WholeBytes(made.bytes), .all)
  }

  @Test(arguments: [ImageVariant.Format.jpeg, .png, .webp, .avif])
  func `a thumbnail tells nothing of its file by default`(format: ImageVariant.Format) throws {
    let facts = try facts(format, .none)
    #expect(facts.profileDescription == nil)
    #expect(facts.xmp == nil && facts.exif == nil && facts.iptc == nil)
  }

  @Test(arguments: [ImageVariant.Format.jpeg, .png, .webp, .avif])
  func `the profile stays with its colours`(format: ImageVariant.Format) throws {
    let thumbnail = { (kept: ImageVariant.KeptData) in
      let variant = try Variant(
        ImageVariant(width: 100, height: 100, format: format, keptData: kept))
      return try fixture.thumbnailer.thumbnail(of: file(), as: variant).bytes
    }
    let (kept, converted) = try (thumbnail(ImageVariant.KeptData(profile: true)), thumbnail(.none))
    #expect(try PictureFacts.reading(WholeBytes(kept), .all).xmp == nil)
    // The numbers differ, and a reader that obeys the profile sees the same colour.
    let (x, y) = (65, 10)
    let numbers = try fixture.reader.raster(of: kept)[x, y]
    #expect(!numbers.resembles(try fixture.reader.raster(of: converted)[x, y], tolerance: 12))
    #expect(
      try fixture.raster(of: kept)[x, y].resembles(
        fixture.raster(of: converted)[x, y], tolerance: 8))
  }

  @Test(arguments: [ImageVariant.Format.jpeg, .png, .webp, .avif])
  func `metadata is copied, and says that pixels are upright`(format: ImageVariant.Format) throws {
    let facts = try facts(format, ImageVariant.KeptData(metadata: true))
    #expect(facts.xmp?.rating == 4)
    #expect(facts.orientation == 1)
    #expect(facts.width == 75 && facts.height == 100)
    #expect(facts.profileDescription == nil)
  }

  @Test func `a PNG has its metadata once`() throws {
    let variant = try Variant(
      ImageVariant(
        width: 100, height: 100, format: .png, keptData: ImageVariant.KeptData(metadata: true)))
    let made = try fixture.thumbnailer.thumbnail(of: file(), as: variant)
    var chunks = PNGChunks(ByteWindow(WholeBytes(made.bytes)))
    var names: [String] = []
    while let chunk = try? chunks.next(), chunk.name != "IEND" { names.append(chunk.name) }
    #expect(names.count { $0 == "eXIf" } == 1)
    #expect(names.count { $0 == "IDAT" } > 0)
    #expect(try fixture.reader.raster(of: made.bytes).width == 75)
  }

  @Test func `the thumbnail in the metadata of a file is not copied`() throws {
    let picture = try fixture.maker.card(index: 1, width: 400, height: 300, format: .jpeg)
    let thumbnail = try fixture.maker.card(index: 2, width: 160, height: 120, format: .jpeg)
    let file = EXIFSegment.insert(thumbnail: thumbnail, into: picture)
    #expect(try PictureFacts.reading(WholeBytes(file), .all).thumbnail != nil)
    #expect(try facts(.jpeg, ImageVariant.KeptData(metadata: true), of: file).thumbnail == nil)
  }

  private static let rights = """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF \
    xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" \
    xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" \
    xmp:Rating="4"><dc:creator><rdf:Seq><rdf:li>A (b) &amp; &lt;c&gt;</rdf:li></rdf:Seq></dc:creator>\
    <dc:rights><rdf:Alt><rdf:li xml:lang="x-default">© C</rdf:li></rdf:Alt></dc:rights>\
    </rdf:Description></rdf:RDF></x:xmpmeta>
    """

  @Test(arguments: [ImageVariant.Format.jpeg, .png, .webp, .avif])
  func `the author and the rights are kept alone`(format: ImageVariant.Format) throws {
    let card = try fixture.maker.card(index: 1, format: .jpeg)
    let file = EXIFSegment.insert(artist: "Ada (x)", copyright: "(c) 2026 Ada", into: card)
    let facts = try facts(format, ImageVariant.KeptData(copyright: true), of: file)
    #expect(facts.xmp?.creators == ["Ada (x)"])
    #expect(facts.xmp?.rights == "(c) 2026 Ada")
    // libvips writes no EXIF data of its own to PNG.
    guard format != .png else { return }
    #expect(facts.exif?.ifd0["Artist"]?.text == "Ada (x)")
    #expect(facts.exif?.ifd0["Copyright"]?.text == "(c) 2026 Ada")
    #expect(facts.exif?.ifd0["Software"] == nil)
    #expect(facts.profileDescription == nil)
  }

  @Test func `rights outside ASCII are kept as XMP, and nothing else of that`() throws {
    let card = try fixture.maker.card(index: 1, format: .jpeg)
    let xmp = Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(Self.rights.utf8)
    let file = JPEGSegments.insert(xmp, marker: 0xE1, into: card)
    let facts = try facts(.jpeg, ImageVariant.KeptData(copyright: true), of: file)
    #expect(facts.xmp?.creators == ["A (b) & <c>"])
    #expect(facts.xmp?.rights == "© C")
    #expect(facts.xmp?.rating == nil)
    #expect(facts.exif?.ifd0["Copyright"] == nil)
  }

  @Test func `an author and rights in IPTC are kept`() throws {
    let texts: [(number: UInt8, text: String)] = [(80, "Ada"), (116, "(c) 2026 Ada")]
    let datasets: [UInt8] = texts.flatMap { number, text in
      [0x1C, 2, number, 0, UInt8(text.utf8.count)] + Array(text.utf8)
    }
    // A resource of Photoshop, whose name is empty.
    let resource: [UInt8] =
      Array("Photoshop 3.0\08BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, UInt8(datasets.count)] + datasets
    let card = try fixture.maker.card(index: 1, format: .jpeg)
    let file = JPEGSegments.insert(resource, marker: 0xED, into: card)
    for format in [ImageVariant.Format.jpeg, .webp] {
      let facts = try facts(format, ImageVariant.KeptData(copyright: true), of: file)
      #expect(facts.exif?.ifd0["Artist"]?.text == "Ada")
      #expect(facts.exif?.ifd0["Copyright"]?.text == "(c) 2026 Ada")
      #expect(facts.iptc == nil)
    }
  }

  @Test func `a file without author or rights becomes what it becomes with nothing kept`() throws {
    let card = try fixture.maker.card(index: 1, format: .jpeg)
    let made = try [ImageVariant.KeptData.none, ImageVariant.KeptData(copyright: true)].map {
      kept in
      let variant = try Variant(ImageVariant(width: 30, height: 30, keptData: kept))
      return try fixture.thumbnailer.thumbnail(of: card, as: variant)
    }
    #expect(made[0].bytes == made[1].bytes)
    #expect(made[1].source.decodePath == .planar)
  }

  @Test func `colours of ink become sRGB, whatever is kept`() throws {
    let file = try fixture.maker.card(index: 1, format: .cmykJPEG)
    let facts = try facts(.jpeg, ImageVariant.KeptData(profile: true), of: file)
    #expect(facts.colourModel == .ycbcr)
    #expect(facts.profileDescription == nil)
  }
}

@Suite struct EXIFOrientationTests {
  private struct Entry {
    var tag: UInt8 = 0x12
    var type: UInt8 = 3
    var count: UInt8 = 1
    let value: UInt8
  }

  /// A segment of EXIF whose directory has these entries, all with tags 0x01….
  private func segment(_ entries: [Entry], isBigEndian: Bool = false) -> [UInt8] {
    func number(_ value: UInt8, _ byteCount: Int) -> [UInt8] {
      let padding = [UInt8](repeating: 0, count: byteCount - 1)
      return isBigEndian ? padding + [value] : [value] + padding
    }
    var file: [UInt8] = isBigEndian ? [0x4D, 0x4D, 0, 42] : [0x49, 0x49, 42, 0]
    file += number(8, 4) + number(UInt8(entries.count), 2)
    for entry in entries {
      file += isBigEndian ? [1, entry.tag] : [entry.tag, 1]
      file += number(entry.type, 2) + number(entry.count, 4)
      file += number(entry.value, 2) + [0, 0]
    }
    return Array("Exif\0\0".utf8) + file
  }

  private func value(_ segment: [UInt8]) -> Int? {
    unsafe segment.withUnsafeBufferPointer { unsafe EXIFOrientation.value(inSegment: $0) }
  }

  @Test(arguments: [false, true])
  func `the orientation is read in both byte orders`(isBigEndian: Bool) {
    for orientation in 1...8 {
      let entries = [Entry(tag: 0x10, value: 7), Entry(value: UInt8(orientation))]
      #expect(value(segment(entries, isBigEndian: isBigEndian)) == orientation)
    }
  }

  @Test(arguments: [0, 9, 255])
  func `a value that does not exist is none`(orientation: UInt8) {
    #expect(value(segment([Entry(value: orientation)])) == nil)
  }

  @Test func `text and entries without a value do not count, and of two the first does`() {
    #expect(value(segment([Entry(type: 2, value: 6), Entry(value: 3)])) == 3)
    #expect(value(segment([Entry(count: 0, value: 6), Entry(value: 3)])) == 3)
    #expect(value(segment([Entry(value: 6), Entry(value: 3)])) == 6)
  }

  @Test func `a segment that breaks off anywhere is no error`() {
    let whole = segment([Entry(value: 6)])
    for count in 0..<whole.count - 2 {
      #expect(value(Array(whole.prefix(count))) == nil)
    }
    #expect(value(Array("http://ns.adobe.com/xap/1.0/\0".utf8)) == nil)
  }
}

@Suite struct WebPContainerTests {
  private let maker = ThumbnailFixture().maker
  private let reader = ThumbnailFixture().reader

  @Test(arguments: [true, false])
  func `metadata is removed and the picture stays`(hasAlpha: Bool) throws {
    let picture = try maker.card(index: 3, format: .webp, orientation: 3, hasAlpha: hasAlpha)
    #expect(try reader.metadata(of: picture) == ["exif-data", "orientation"])
    let stripped = WebPContainer.strippingMetadata(picture)
    #expect(try reader.metadata(of: stripped) == [])
    // A reader that obeys the header overlooks a chunk that is still there.
    #expect(!stripped.indices.contains { stripped[$0...].starts(with: "EXIF".utf8) })
    #expect(try reader.hasAlpha(stripped) == hasAlpha)
    #expect(try reader.raster(of: stripped).bytes == reader.raster(of: picture).bytes)
  }

  @Test func `the size in the file header is that of the rest`() throws {
    let stripped = WebPContainer.strippingMetadata(try maker.card(index: 3, format: .webp))
    let declared = stripped[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect(declared == stripped.count - 8)
  }

  @Test func `stripping twice changes nothing`() throws {
    let once = WebPContainer.strippingMetadata(try maker.card(index: 3, format: .webp))
    #expect(WebPContainer.strippingMetadata(once) == once)
  }

  @Test func `anything but a whole WebP file is returned as it is`() throws {
    let picture = try maker.card(index: 3, format: .webp)
    for count in [0, 4, 15, picture.count - 1] {
      let cut = Array(picture.prefix(count))
      #expect(WebPContainer.strippingMetadata(cut) == cut)
    }
    let jpeg = try maker.card(index: 3)
    #expect(WebPContainer.strippingMetadata(jpeg) == jpeg)
  }
}

/// Pictures that lie in memory with other bytes around them.
@Suite(.timeLimit(.minutes(20))) struct PictureInPlaceTests {
  private let fixture = ThumbnailFixture()

  @Test(arguments: PictureFormat.allCases)
  func `a picture in place has the same thumbnail as one by itself`(format: PictureFormat) throws {
    let picture = try fixture.maker.card(index: 3, format: format)
    let byItself = try fixture.thumbnailer.thumbnail(of: picture, as: .standard)
    let inPlace = try thumbnail(of: 0..<picture.count, in: picture + picture)
    #expect(inPlace.bytes == byItself.bytes)
    #expect(inPlace.source == byItself.source)
  }

  @Test(arguments: PictureFormat.allCases, [10, 50, 90])
  func `a picture that ends early fails, although its rest follows`(
    format: PictureFormat, percent: Int
  ) throws {
    let picture = try fixture.maker.noise(seed: 7, width: 200, height: 150, format: format)
    let failure = #expect(throws: Failure.self) {
      try thumbnail(of: 0..<(picture.count * percent / 100), in: picture)
    }
    #expect(failure?.code == .corruptImage)
  }

  @Test func `one picture can be decoded several times`() throws {
    let picture = try fixture.maker.card(index: 1, format: .png)
    for width in [16, 64] {
      let variant = try Variant(ImageVariant(width: width, height: width))
      let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: variant)
      #expect(rendered.thumbnail.width == width)
    }
  }

  @Test func `the header is announced once, and not that of a picture beyond the limits`() throws {
    var limits = Limits()
    limits.maxPixels = 99
    let narrow = Thumbnailer(runtime: try VipsRuntime.start(), limits: limits)
    let picture = try fixture.maker.card(index: 1, width: 10, height: 10, format: .png)
    var count = 0
    _ = try fixture.thumbnailer.thumbnails(of: picture.span, as: [.standard]) { count += 1 }
    #expect(count == 1)
    #expect(throws: Failure.self) {
      try narrow.thumbnails(of: picture.span, as: [.standard]) { count += 1 }
    }
    #expect(count == 1)
  }

  private func thumbnail(of range: Range<Int>, in bytes: [UInt8]) throws -> RenderedThumbnail {
    try fixture.thumbnailer.thumbnail(of: Array(bytes[range]), as: .standard)
  }
}
