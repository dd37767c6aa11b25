import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

@Suite struct WebPFactsTests {
  @Test func `both bitstreams tell size and samples`() throws {
    let maker = try PictureMaker.start()
    let lossy = try facts(of: maker.card(index: 1, width: 80, height: 60, format: .webp))
    #expect(lossy.format == .webp && lossy.width == 80 && lossy.height == 60)
    #expect(lossy.encoding == "lossy" && lossy.colourModel == .ycbcr && lossy.bitsPerSample == 8)
    #expect(lossy.bands == 3 && lossy.hasAlpha == false && lossy.frameCount == 1)
    let lossless = try facts(
      of: maker.card(index: 1, width: 80, height: 60, format: .losslessWebP, hasAlpha: true))
    #expect(lossless.width == 80 && lossless.height == 60 && lossless.hasAlpha == true)
    #expect(lossless.encoding == "lossless" && lossless.colourModel == .rgb)
    let bare = try facts(of: WebPMaker.file(WebPMaker.lossless(width: 300, hasAlpha: true)))
    #expect(bare.width == 300 && bare.height == 10 && bare.bands == 4)
  }

  @Test func `metadata stands behind the pixels`() throws {
    let found = try facts(of: Samples.webp, .metadata)
    #expect(found.orientation == 6 && found.width == 10 && found.storedWidth == 20)
    #expect(found.exif?.ifd0["Model"] == .text("C-1") && found.xmp?.title == "Sea & sky ☺")
    #expect(found.profileDescription == "Of a WebP")
    #expect(try facts(of: Samples.webp, .header).width == 10)
  }

  @Test func `an animation's frames, delays and passes are counted`() throws {
    let found = try facts(of: Samples.animatedWebP)
    #expect(found.isAnimated == true && found.frameCount == 3 && found.loopCount == 2)
    #expect(found.frameDelays == [40, 0, 1_000] && found.duration == 1_140)
    #expect(found.encoding == "lossy" && found.hasAlpha == true)
    let made = try facts(of: PictureMaker.start().animation(index: 1, frameCount: 3, format: .webp))
    #expect(made.frameDelays == [100, 100, 100] && made.loopCount == 0)
  }

  @Test func `pixels are passed over`() throws {
    let exif = WebPMaker.chunk("EXIF", Samples.exif)
    let still = WebPMaker.file(
      WebPMaker.extended(flags: 0x08), WebPMaker.lossy(data: 4 << 20), exif)
    let fetch = Fetch(still, .metadata)
    #expect(fetch.facts?.exif != nil && fetch.facts?.orientation == 6)
    #expect(fetch.ranges == [0..<4_096, still.count - exif.count..<still.count])
    #expect(Fetch(WebPMaker.file(WebPMaker.lossy(data: 4 << 20)), .all).ranges == [0..<4_096])
    let frames = [[UInt8]](
      repeating: WebPMaker.frame(duration: 10, data: 3 << 20), count: 5
    ).flatMap { $0 }
    let animation = WebPMaker.file(
      WebPMaker.extended(flags: 0x02), WebPMaker.animation(loopCount: 0), frames)
    #expect(Fetch(animation, .header).ranges == [0..<4_096])
    #expect(Fetch(animation, .metadata).ranges == [0..<4_096])
    let all = Fetch(animation, .all)
    #expect(all.facts?.frameCount == 5 && all.ranges.count == 5 && all.byteCount < 1_400_000)
  }

  @Test(arguments: [FactsExtent.header, .metadata, .all])
  func `a file that is cut has the facts before the cut, and says so`(extent: FactsExtent) throws {
    let whole = Samples.webp
    for count in [40, whole.count / 2, whole.count - 1] {
      let record = try Fetch.record(Array(whole.prefix(count)), extent)
      #expect(record.status == .truncated, "\(count)")
      #expect(record.facts.storedWidth == 20 && record.facts.storedHeight == 10)
    }
    let record = try Fetch.record(Array(whole.dropLast()), extent)
    #expect(record.facts.encoding == "lossy" && record.facts.orientation == 6)
    #expect(throws: Failure.self) { try Fetch.record(Array(whole.prefix(29)), extent) }
  }

  @Test func `the frames of a cut animation are counted up to the cut`() throws {
    let record = try Fetch.record(Array(Samples.animatedWebP.dropLast(60)), .all)
    #expect(record.status == .truncated && record.facts.isAnimated == true)
    #expect(record.facts.frameDelays == [40, 0] && record.facts.loopCount == 2)
  }

  @Test func `a file of very many chunks is unsupported`() {
    let chunks = [[UInt8]](repeating: WebPMaker.chunk("abcd", []), count: 131_073)
    #expect(
      error(of: WebPMaker.file(chunks.flatMap { $0 }))
        == .unsupported("WebP of more than 131072 chunks"))
  }

  @Test func `files without a picture are invalid`() {
    #expect(
      error(of: WebPMaker.file(WebPMaker.chunk("VP9 ", zeros(20))))
        == .invalid("no picture in the file"))
    #expect(
      error(of: WebPMaker.file(WebPMaker.chunk("VP8 ", zeros(20))))
        == .invalid("no key frame of VP8"))
    #expect(
      error(of: WebPMaker.file(WebPMaker.chunk("VP8L", zeros(20))))
        == .invalid("no signature of VP8L"))
    #expect(
      error(of: WebPMaker.file(WebPMaker.lossy(width: 0))) == .invalid("a picture without pixels"))
  }
}
