import ImgModel
import TestPictures
import Testing

@testable import ImgFacts

@Suite struct GIFFactsTests {
  @Test func `the screen descriptor tells size and colours`() throws {
    let file = try PictureMaker.start().card(index: 1, width: 80, height: 60, format: .gif)
    let found = try facts(of: file)
    #expect(found.format == .gif && found.width == 80 && found.height == 60)
    #expect(found.colourModel == .palette && found.bands == 1)
    #expect(found.frameCount == 1 && found.isAnimated == false && found.frameDelays == nil)
    #expect(found.loopCount == nil)
  }

  @Test func `frames, delays and passes are those of the file`() throws {
    let found = try facts(of: Samples.gif)
    #expect(found.frameCount == 3 && found.isAnimated == true && found.loopCount == 6)
    #expect(found.frameDelays == [100, 10, 0] && found.duration == 300)
    #expect(found.hasAlpha == true && found.isInterlaced == true && found.bitsPerSample == 3)
    #expect(found.profileDescription == "Of a GIF")
    #expect(found.xmp?.packet == Samples.xmp)
  }

  @Test func `an animation that libvips has written is read`() throws {
    let found = try facts(of: PictureMaker.start().animation(index: 1, frameCount: 4))
    #expect(found.frameCount == 4 && found.frameDelays == [100, 100, 100, 100])
    #expect(found.loopCount == 0)
  }

  @Test func `an animation without a count plays once, and a count is one of repetitions`() throws {
    let two = GIFMaker.frame() + GIFMaker.frame()
    #expect(try facts(of: GIFMaker.file(two)).loopCount == 1)
    #expect(try facts(of: GIFMaker.file(GIFMaker.loop(0), two)).loopCount == 0)
    #expect(
      try facts(of: GIFMaker.file(GIFMaker.loop(7, name: "ANIMEXTS1.0"), two)).loopCount == 8)
  }

  @Test func `metadata ends with the first frame`() throws {
    let file = GIFMaker.file(
      GIFMaker.loop(3), GIFMaker.control(delay: 4, transparent: true), GIFMaker.frame(data: 100_000)
    )
    let fetch = Fetch(file, .metadata)
    #expect(fetch.facts?.hasAlpha == true && fetch.facts?.loopCount == 4)
    #expect(fetch.facts?.frameCount == nil && fetch.ranges == [0..<4_096])
  }

  @Test func `frames take the whole file in few ranges`() throws {
    let frames = [[UInt8]](repeating: GIFMaker.frame(data: 40_000), count: 50).flatMap { $0 }
    let file = GIFMaker.file(frames)
    let fetch = Fetch(file, .all)
    #expect(fetch.facts?.frameCount == 50 && fetch.ranges.count <= 7)
  }

  @Test func `the frames of a cut animation are counted up to the cut`() throws {
    // In the last frame, behind its descriptor.
    let cut = try Fetch.record(Array(Samples.gif.dropLast(10)), .all)
    #expect(cut.status == .truncated && cut.facts.isAnimated == true)
    #expect(cut.facts.frameDelays == [100, 10, 0] && cut.facts.loopCount == 6)
    let trailerless = try Fetch.record(Array(Samples.gif.dropLast()), .all)
    #expect(trailerless.status == .truncated && trailerless.facts.frameCount == 3)
    // Whether more frames follow the first one is unknown.
    let still = try Fetch.record(Array(GIFMaker.file(GIFMaker.frame(data: 600)).dropLast(9)), .all)
    #expect(still.status == .truncated && still.facts.frameCount == 1)
    #expect(still.facts.isAnimated == nil)
    let frameless = try Fetch.record(Array(GIFMaker.file(GIFMaker.loop(0)).dropLast(3)), .all)
    #expect(frameless.status == .truncated && frameless.facts.frameCount == nil)
  }

  @Test func `files without a canvas, without frames and with too many are refused`() {
    #expect(error(of: GIFMaker.file(width: 0)) == .invalid("a canvas without pixels"))
    #expect(error(of: GIFMaker.file()) == .invalid("no frame"))
    let comments = [[UInt8]](repeating: [0x21, 0xFE, 0], count: 262_144).flatMap { $0 }
    #expect(
      error(of: GIFMaker.file(comments)) == .unsupported("GIF of more than 262144 blocks"))
    let many = [[UInt8]](repeating: GIFMaker.frame(data: 0), count: 65_537).flatMap { $0 }
    #expect(error(of: GIFMaker.file(many)) == .unsupported("more than 65536 frames"))
  }
}
