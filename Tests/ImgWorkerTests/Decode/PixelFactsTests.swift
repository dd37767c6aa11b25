import Glibc
import ImgFacts
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import ImgWorkerMachine
import TestPictures
import Testing

@testable import ImgWorker

/// Facts with those of the pixels: what a decoder says of them, and what becomes of it.
@Suite(.timeLimit(.minutes(20))) struct PixelFactsTests {
  private typealias Script = ScriptedDecoder.Script

  private let picture: [UInt8]

  init() throws {
    picture = try PictureMaker.start().encode(
      Raster(width: 32, height: 24) { _, _ in .init(200, 30, 30) }, as: .png)
  }

  /// Answers its first picture with that message.
  private static func says(_ text: String) -> Script {
    { role in
      _ = try role.takeDescription()
      let payload = Array(text.utf8)
      let length = (0..<4).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
      _ = try UnixSocket.send(role.channel.descriptor, (length + payload)[...])
      role.waitForClose()
      return .exited(0)
    }
  }

  private static let thumbHash = "IAgCBwAAAAAAAAAAAAAAAAAAAAAAAAAA"
  private static let blurHash = "LIGY=sU|KJ$*|=JCOD,WR%S#A?E}"

  private static func described(
    picture: Int = 1, thumbHash: String = thumbHash, blurHash: String = blurHash,
    colour: String = "#0000ff", share: String = "1", frames: String? = nil
  ) -> String {
    #"{"type":"described","picture":\#(picture),"thumbhash":"\#(thumbHash)","blurhash":"\#(blurHash)""#
      + #","palette":[{"colour":"\#(colour)","share":\#(share)}]"#
      + (frames.map { #","frame_delays_ms":\#($0)"# } ?? "") + "}"
  }

  @Test func `a decoder describes the pixels, and the rest is read without it`() throws {
    let running = try RunningDecodeThread()
    #expect(try running.pixelFacts(of: picture)?.thumbnail?.width == 32)
    let record = try #require(try running.lastRecord())
    #expect(record.facts.width == 32 && record.declaredType == "image/gif")
    #expect(record.pixels?.dominant?.cssText == "#c81e1e" && record.pixelsFailure == nil)
    #expect(running.endedDecoders.isEmpty)
    // The same decoder makes thumbnails, and none of them has facts.
    #expect(try running.decode(picture, lease: 2)?.thumbnail?.width == 32)
  }

  @Test func `what a decoder says of the pixels is taken`() throws {
    let running = try RunningDecodeThread(scripts: [Self.says(Self.described())])
    _ = try running.pixelFacts(of: picture)
    #expect(try running.lastRecord()?.pixels?.dominant?.cssText == "#0000ff")
  }

  @Test func `a decoder tells the frames of an animated JPEG XL, and of no other picture`() throws {
    let card = Card(index: 1, width: 16, height: 12).raster
    let animation = JXLWriter.file([JXLWriter.Frame(card), JXLWriter.Frame(card)])
    for (picture, count) in [(animation, 3), (self.picture, 1)] {
      let running = try RunningDecodeThread(
        scripts: [Self.says(Self.described(frames: "[40,0,1320]"))])
      _ = try running.pixelFacts(of: picture)
      let facts = try #require(try running.lastRecord()).facts
      #expect(facts.frameCount == count)
      #expect(facts.frameDelays == (count == 3 ? [40, 0, 1_320] : nil))
      // As browsers play it.
      #expect(facts.duration == (count == 3 ? 1_460 : nil))
    }
  }

  @Test func `a decoder that makes up a hash or a colour is ended, and its picture tried again`()
    throws
  {
    let lies = [
      Self.described(thumbHash: "IAgCBwAA"), Self.described(thumbHash: "<b>"),
      Self.described(blurHash: "LIGY"), Self.described(blurHash: Self.blurHash + "0"),
      Self.described(colour: "<script>"), Self.described(share: "2"),
      Self.described(frames: "[]"), Self.described(frames: "[-1]"),
      Self.described(frames: "[2147483648]"), Self.described(frames: "true"),
      Self.described(picture: 2), Self.described(picture: 0), #"{"type":"described","picture":1}"#,
    ]
    for lie in lies {
      let running = try RunningDecodeThread(scripts: [Self.says(lie)])
      _ = try running.pixelFacts(of: picture)
      #expect(try running.lastRecord()?.pixels?.dominant?.cssText == "#c81e1e", "\(lie)")
      #expect(running.endedDecoders == [DecoderID(rawValue: 1)], "\(lie)")
    }
  }

  @Test func `a decoder that makes a thumbnail unasked is ended`() throws {
    let script: Script = { role in
      let request = try role.takeDescription()
      let hash = ThumbHash(bytes: [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19))
      guard let hash else { throw ScriptedDecoder.Unexpected() }
      let facts = RenderedFacts(
        thumbnails: [Thumbnail(format: .jpeg, width: 1, height: 1, byteCount: 1)],
        source: SourceFacts(format: .png, width: 32, height: 24, frames: 1), thumbHash: hash)
      try role.channel.send(.decoded(facts, picture: request.picture))
      role.waitForClose()
      return .exited(0)
    }
    let running = try RunningDecodeThread(scripts: [script])
    _ = try running.pixelFacts(of: picture)
    #expect(try running.lastRecord()?.pixels?.dominant?.cssText == "#c81e1e")
    #expect(running.endedDecoders == [DecoderID(rawValue: 1)])
  }

  @Test func `a picture over which two decoders crash has its facts, and the reason`() throws {
    let crash: Script = { role in
      _ = try role.takeDescription()
      return .signalled(SIGSEGV)
    }
    let running = try RunningDecodeThread(scripts: [crash, crash])
    #expect(try running.pixelFacts(of: picture)?.thumbnail?.width == 32)
    let record = try #require(try running.lastRecord())
    #expect(record.facts.width == 32 && record.pixels == nil)
    #expect(record.pixelsFailure?.code == .decodeCrash)
  }

  @Test func `a failure that may pass is that of the request`() throws {
    let kill: Script = { role in
      _ = try role.takeDescription()
      return .signalled(SIGKILL)
    }
    let running = try RunningDecodeThread(scripts: Array(repeating: kill, count: 5))
    #expect(try running.pixelFacts(of: picture)?.failure?.isRetryable == true)
  }

  @Test func `what has no facts fails without a decoder`() throws {
    let running = try RunningDecodeThread()
    #expect(try running.pixelFacts(of: Array("no picture".utf8))?.failure != nil)
  }
}
