import Glibc
import ImgFacts
import ImgModel
import ImgSystem
import ImgWire
import ImgWorkerMachine
import TestPictures
import Testing

@testable import ImgWorker

/// The decode thread with real decoder processes.
@Suite(.timeLimit(.minutes(20))) struct DecodeThreadTests {
  private let picture: [UInt8]

  init() throws {
    picture = try PictureMaker.start().card(index: 1, width: 320, height: 240)
  }

  @Test func `a picture is decoded, and what is no picture fails`() throws {
    let running = try RunningDecodeThread()
    #expect(try running.decode([0], lease: 1)?.failure?.code == .notAnImage)
    #expect(try running.decode(picture, lease: 2)?.thumbnail?.width == 256)
    #expect(running.results.last?.bytes.map(FormatSniffer.sniff) == .picture(.jpeg))
    #expect(running.isReady)
    #expect(running.endedDecoders == [])
  }

  @Test func `a job that is cancelled before its turn is not decoded`() throws {
    let running = try RunningDecodeThread()
    running.submit(picture, lease: 1)
    running.submit(picture, lease: 2)
    running.thread.cancel(2)
    try running.run { running.results.count == 2 }
    #expect(running.results.map(\.lease) == [1, 2])
    #expect(running.results.map { $0.end == .cancelled } == [false, true])
  }

  @Test func `a picture of more than the kept memory leaves the decoder as it was`() throws {
    let running = try RunningDecodeThread()
    let large = picture + [UInt8](repeating: 0, count: 9 << 20)
    for lease in 1...3 as ClosedRange<UInt64> {
      #expect(try running.decode(large, lease: LeaseID(rawValue: lease)) != nil)
    }
    #expect(try running.decode(picture, lease: 4)?.thumbnail?.width == 256)
    #expect(running.host.startCount <= 2)
  }

  @Test func `the spare takes over when a decoder without a picture is killed`() throws {
    let running = try RunningDecodeThread()
    #expect(try running.decode(picture, lease: 1)?.thumbnail != nil)
    try running.run { running.host.startCount == 2 }
    running.host.signal(DecoderID(rawValue: 1), SIGKILL)
    try running.run { running.host.startCount == 3 }
    #expect(try running.decode(picture, lease: 2)?.thumbnail != nil)
  }

  @Test(arguments: [SIGSEGV, SIGKILL, SIGTERM])
  func `the spare decodes the picture of a decoder that died`(signal: CInt) throws {
    let running = try RunningDecodeThread()
    running.host.holdsChannels = true
    try running.run { running.isReady }
    let first = DecoderID(rawValue: 1)
    running.host.signal(first, SIGSTOP)
    running.submit(picture)
    #expect(try running.host.waitForRequest(to: first))
    running.host.signal(first, signal)
    running.host.signal(first, SIGCONT)
    running.host.holdsChannels = false
    #expect(try running.end(of: 1)?.thumbnail?.width == 256)
  }

  /// A GIF of 100 megapixels, whose loader allocates 4 bytes for each before it reads one. GLib
  /// ends the process when an allocation of its own is refused.
  private static let largeCanvas: [UInt8] = {
    let side: [UInt8] = [0x10, 0x27]
    let screen = Array("GIF89a".utf8) + side + side + [0x80, 0, 0] + [0, 0, 0, 255, 255, 255]
    let frame = [0x2C, 0, 0, 0, 0] + side + side + [0, 2, 2, 0x44, 1, 0, 0x3B]
    return screen + frame
  }()

  @Test func `a picture that needs more than a decoder's memory ends as out_of_memory`() throws {
    var limits = Limits()
    limits.decoderMemoryByteCount = 256 << 20
    let running = try RunningDecodeThread(limits: limits)
    let failure = try running.decode(Self.largeCanvas, lease: 1)?.failure
    #expect(failure?.code == .outOfMemory)
    #expect(failure?.detail.contains("256M") == true)
    #expect(try running.decode(picture, lease: 2)?.thumbnail?.width == 256)
  }
}

@Suite struct DecodeAttemptsTests {
  private let limits = Limits()

  @Test func `the second death of whatever kind decides`() {
    let deaths: [(DecoderEnd, Failure.Code)] = [
      (.crashed("was killed"), .decodeCrash), (.timedOut("too long"), .decodeTimeout),
      (.outOfMemory, .outOfMemory),
    ]
    for (first, _) in deaths {
      for (second, code) in deaths {
        var attempts = DecodeAttempts()
        #expect(attempts.failure(after: first, time: .zero, within: limits) == nil)
        #expect(attempts.failure(after: second, time: .zero, within: limits)?.code == code)
      }
    }
  }

  @Test func `kills from outside count apart, up to five`() {
    var attempts = DecodeAttempts()
    #expect(attempts.failure(after: .crashed(""), time: .zero, within: limits) == nil)
    for _ in 1...4 {
      #expect(attempts.failure(after: .killed, time: .zero, within: limits) == nil)
    }
    #expect(attempts.failure(after: .killed, time: .zero, within: limits)?.code == .outOfMemory)
  }

  @Test func `no third attempt begins after the time of one decode`() {
    var attempts = DecodeAttempts()
    let late = limits.decodeTimeout
    #expect(attempts.failure(after: .killed, time: late, within: limits) == nil)
    #expect(
      attempts.failure(after: .timedOut(""), time: .zero, within: limits)?.code == .decodeTimeout)
  }
}

@Suite struct RepeatedDecodesTests {
  private let job = DecodeJob(
    lease: 1, source: .bytes([]), variants: [.standard], facts: nil, describesPixels: false,
    declaredType: nil, isLenient: false, isUrgent: false)
  private let now = ContinuousClock.now
  private var repeats = RepeatedDecodes()

  @Test mutating func `a second attempt waits for others, for a while, and for a spare decoder`() {
    repeats.append(job, at: now)
    #expect(repeats.next(isIdle: false, at: now, hasSpare: { true })?.lease == nil)
    #expect(repeats.next(isIdle: true, at: now, hasSpare: { false })?.lease == nil)
    let late = now + .seconds(5)
    #expect(repeats.next(isIdle: false, at: late, hasSpare: { false })?.lease == nil)
    #expect(repeats.next(isIdle: false, at: late, hasSpare: { true })?.lease == 1)
    #expect(repeats.isEmpty)
  }

  @Test mutating func `a cancelled picture waits for nothing`() {
    repeats.append(job, at: now)
    job.cancellation.set()
    #expect(repeats.next(isIdle: false, at: now, hasSpare: { false })?.lease == 1)
  }
}

@Suite struct StartBackoffTests {
  @Test func `each failure doubles the delay, and the fifth is the last`() {
    var backoff = StartBackoff()
    let delays = (1...4).map { _ in backoff.failed(wasKilled: false) }
    #expect(delays == [250, 500, 1_000, 2_000].map(Duration.milliseconds))
    #expect(!backoff.isExhausted)
    _ = backoff.failed(wasKilled: false)
    #expect(backoff.isExhausted)
  }

  @Test func `a success forgets the failures`() {
    var backoff = StartBackoff()
    for _ in 1...4 { _ = backoff.failed(wasKilled: false) }
    backoff.succeeded()
    #expect(backoff.failed(wasKilled: false) == .milliseconds(250))
  }

  @Test func `kills need no delay, and a hundred are enough`() {
    var backoff = StartBackoff()
    for _ in 1...99 { #expect(backoff.failed(wasKilled: true) == .zero) }
    #expect(!backoff.isExhausted)
    _ = backoff.failed(wasKilled: true)
    #expect(backoff.isExhausted)
  }
}

/// Previews by the spare of real decoder processes.
@Suite(.timeLimit(.minutes(20))) struct PreviewDecoderTests {
  private let picture: [UInt8]
  private let arriving: ArrivingPicture
  private let running: RunningDecodeThread
  private let first = DecoderID(rawValue: 1)
  private let spare = DecoderID(rawValue: 2)

  init() throws {
    picture = try PictureMaker.start().card(index: 1, width: 320, height: 240)
    arriving = try ArrivingPicture(.progressiveJPEG)
    running = try RunningDecodeThread()
    #expect(try running.decode(picture)?.thumbnail != nil)
    try waitForSpare()
  }

  /// The thread looks for the spare's readiness from time to time.
  private func waitForSpare() throws {
    while case .busy = try running.preview(arriving.part(0)) {}
  }

  private func isMade(_ end: PreviewEnd?) -> Bool {
    if case .made = end { true } else { false }
  }

  @Test func `a part is shown once it has more scans than the last preview`() throws {
    guard
      case .made(let thumbnail, let shownByteCount)? = try running.preview(arriving.part(1))
    else {
      Issue.record("no preview")
      return
    }
    #expect([thumbnail.width, thumbnail.height] == [256, 192])
    #expect(shownByteCount > arriving.part(0).count && shownByteCount <= arriving.part(1).count)
    #expect(try running.preview(arriving.part(1), shownByteCount: shownByteCount) == .later)
  }

  @Test func `what has no previews says so, and costs no decoder`() throws {
    let webp = try PictureMaker.start().scene(width: 320, height: 240, format: .webp)
    #expect(try running.preview(webp) == .never)
    #expect(try running.preview(Array("no picture".utf8)) == .later, "more bytes may make one")
    #expect(try isMade(running.preview(arriving.part(0))))
    #expect(running.host.startCount == 2)
  }

  @Test func `a preview that takes long delays no picture`() throws {
    running.host.signal(spare, SIGSTOP)
    #expect(try running.submit(part: arriving.part(1)))
    #expect(try running.decode(picture, lease: 2)?.thumbnail?.width == 256)
    let count = running.previews.count
    running.host.signal(spare, SIGCONT)
    try running.run { running.previews.count > count }
    #expect(isMade(running.previews.last))
    #expect(running.host.startCount == 2)
  }

  @Test func `a second preview is not made beside the first`() throws {
    running.host.signal(spare, SIGSTOP)
    #expect(try running.submit(part: arriving.part(1)))
    // The thread may not have seen the first one: then it takes no other.
    let second = try running.preview(arriving.part(1))
    #expect(second == nil || second == .busy)
    let count = running.previews.count
    running.host.signal(spare, SIGCONT)
    try running.run { running.previews.count > count }
    #expect(isMade(running.previews.last))
  }

  @Test func `a decoder that dies of a preview is replaced, and the picture has no other`() throws {
    running.host.signal(spare, SIGSTOP)
    #expect(try running.submit(part: arriving.part(1)))
    // A second preview ends when the spare has the first one.
    while try running.preview(arriving.part(1)) == nil {}
    let count = running.previews.count
    running.host.signal(spare, SIGKILL)
    try running.run { running.previews.count > count }
    #expect(running.previews.last == .never)
    try running.run { running.host.startCount == 3 }
    #expect(try running.decode(picture, lease: 2)?.thumbnail != nil)
  }

  @Test func `a decoder that dies while the spare makes a preview is replaced`() throws {
    running.host.signal(spare, SIGSTOP)
    #expect(try running.submit(part: arriving.part(1)))
    running.host.signal(first, SIGKILL)
    #expect(try running.decode(picture, lease: 2)?.thumbnail?.width == 256)
    let count = running.previews.count
    running.host.signal(spare, SIGCONT)
    try running.run { running.previews.count > count }
    #expect(isMade(running.previews.last))
    #expect(try running.decode(picture, lease: 3)?.thumbnail?.width == 256)
  }
}

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

  @Test func `a decoder that makes up a hash or colour is ended, its picture tried again`() throws {
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
      let picture = try role.takeDescription()
      let hash = ThumbHash(bytes: [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19))
      guard let hash else { throw ScriptedDecoder.Unexpected() }
      let facts = RenderedFacts(
        thumbnails: [Thumbnail(format: .jpeg, width: 1, height: 1, byteCount: 1)],
        source: SourceFacts(format: .png, width: 32, height: 24, frames: 1), thumbHash: hash)
      try role.channel.send(.decoded(facts, picture: picture))
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
