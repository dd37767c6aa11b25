import Dispatch
import Glibc
import ImgFacts
import ImgModel
import ImgSystem
import ImgWire
import ImgWorkerMachine
import TestCluster
import TestPictures
import Testing

@testable import ImgWorker

/// Decoders that die, hang or lie, each played by the test.
@Suite(.timeLimit(.minutes(20))) struct DecoderDeathTests {
  private typealias Script = ScriptedDecoder.Script

  private let picture: [UInt8]
  private let thumbnail: [UInt8]

  init() throws {
    let maker = try PictureMaker.start()
    picture = try maker.card(index: 1)
    thumbnail = try maker.card(index: 2, width: 32, height: 24)
  }

  /// Dies with its first picture.
  private static func dies(of end: DecoderExit.End) -> Script {
    { role in
      _ = try role.takePicture()
      return end
    }
  }

  /// Never answers.
  private static let hangs: Script = { role in
    _ = try role.takePicture()
    role.waitForClose()
    return .exited(0)
  }

  /// Answers its first picture with that thumbnail and that report.
  private static func says(_ report: DecoderReport, _ bytes: [UInt8]) -> Script {
    { role in
      _ = try role.takePicture()
      role.thumbnail.put(bytes.span)
      try role.channel.send(report)
      role.waitForClose()
      return .exited(0)
    }
  }

  /// Answers its first picture with that thumbnail and those bytes in place of a report.
  private func sends(_ bytes: [UInt8], passing file: CInt? = nil) -> Script {
    { [thumbnail] role in
      _ = try role.takePicture()
      role.thumbnail.put(thumbnail.span)
      _ = try UnixSocket.send(role.channel.descriptor, bytes[...], passing: file)
      role.waitForClose()
      return .exited(0)
    }
  }

  /// The frame of a message that only a liar sends.
  private static func frame(_ text: String) -> [UInt8] {
    let payload = Array(text.utf8)
    return (0..<4).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) } + payload
  }

  /// Expects that the first decoder is ended, and its picture decoded by the next.
  private func expectEnded(
    _ script: @escaping Script, _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let running = try RunningDecodeThread(scripts: [script])
    let width = try running.decode(picture)?.thumbnail?.width
    #expect(width == 256, comment, sourceLocation: sourceLocation)
    #expect(running.endedDecoders == [1], comment, sourceLocation: sourceLocation)
  }

  /// Finds every picture damaged.
  private static let findsDamage: Script = { role in
    var request = try role.takePicture()
    while true {
      let failure = Failure(stage: .decode, code: .corruptImage, detail: "")
      try role.channel.send(.failed(failure, picture: request.picture))
      request = try role.nextPicture()
    }
  }

  private func decoded(
    count: Int = 1, format: ImageFormat = .jpeg, width: Int = 32, byteCount: Int? = nil,
    sourceWidth: Int = 320,
    sourceFormat: ImageFormat = .jpeg, isDamaged: Bool = false, picture: UInt64 = 1
  ) -> DecoderReport {
    let thumbHash = ThumbHash(bytes: [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19))
    guard let thumbHash else { preconditionFailure("its form is right") }
    return .decoded(
      RenderedFacts(
        thumbnails: Array(
          repeating: Thumbnail(
            format: format, width: width, height: 24, byteCount: byteCount ?? thumbnail.count,
            isDamaged: isDamaged),
          count: count),
        source: SourceFacts(format: sourceFormat, width: sourceWidth, height: 240, frames: 1),
        thumbHash: thumbHash),
      picture: picture)
  }

  private func end(with scripts: [Script], limits: Limits = Limits()) throws -> DecodeEnd? {
    try RunningDecodeThread(limits: limits, scripts: scripts).decode(picture)
  }

  /// The same where both attempts find such a decoder. The second is by the first that is ready: that may be the one
  /// in place of the first.
  private func end(withEach script: @escaping Script, limits: Limits = Limits()) throws
    -> DecodeEnd?
  {
    try end(with: Array(repeating: script, count: 3), limits: limits)
  }

  @Test func `what a decoder says is taken`() throws {
    let running = try RunningDecodeThread(scripts: [Self.says(decoded(), thumbnail)])
    #expect(try running.decode(picture)?.thumbnail?.width == 32)
    #expect(running.results.first?.bytes == thumbnail)
  }

  @Test func `a decoder sees nothing of a picture whose header alone is checked`() throws {
    let running = try RunningDecodeThread(scripts: [Self.dies(of: .signalled(SIGSEGV))])
    #expect(try running.header(of: picture)?.thumbnail?.width == 320)
    #expect(running.results.first?.bytes == nil)
    #expect(running.endedDecoders.isEmpty)
  }

  @Test(arguments: [SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGSYS, SIGTRAP])
  func `a picture over which two decoders crash fails with decode_crash`(signal: CInt) throws {
    let crash = Self.dies(of: .signalled(signal))
    let failure = try end(withEach: crash)?.failure
    #expect(failure?.code == .decodeCrash)
    #expect(failure?.isRetryable == false)
    #expect(failure?.detail == "the decoder \(ExitStatus.signalled(signal))")
  }

  @Test func `a picture over which one decoder crashes is decoded by the next`() throws {
    for end in [DecoderExit.End.signalled(SIGSEGV), .exited(1)] {
      #expect(try self.end(with: [Self.dies(of: end)])?.thumbnail?.width == 256)
    }
  }

  @Test func `a picture over which a decoder crashes is tried again after the others`() throws {
    let gate = DispatchSemaphore(value: 0)
    let crash: Script = { role in
      _ = try role.takePicture()
      gate.wait()
      return .signalled(SIGSEGV)
    }
    let running = try RunningDecodeThread(scripts: [crash])
    for lease in [1, 2, 3] as [LeaseID] { running.submit(picture, lease: lease) }
    gate.signal()
    #expect(try running.end(of: 1)?.thumbnail != nil)
    #expect(running.results.map(\.lease) == [2, 3, 1])
  }

  @Test(arguments: [SIGALRM, SIGPROF])
  func `a picture over which two decoders run out of time times out`(signal: CInt) throws {
    let late = Self.dies(of: .signalled(signal))
    #expect(try end(withEach: late)?.failure?.code == .decodeTimeout)
  }

  @Test func `a picture over which two decoders hang fails with decode_timeout`() throws {
    var limits = Limits()
    limits.decodeTimeout = .milliseconds(100)
    let running = try RunningDecodeThread(limits: limits, scripts: [Self.hangs, Self.hangs])
    let failure = try running.decode(picture)?.failure
    #expect(failure?.code == .decodeTimeout)
    #expect(failure?.detail == "reading the header took longer than 0.1 seconds")
    #expect(running.endedDecoders == [1, 2])
  }

  @Test func `a picture over whose pixels two decoders hang fails with decode_timeout`() throws {
    var limits = Limits()
    limits.decodeTimeout = .milliseconds(100)
    let script: Script = { role in
      _ = try role.takePicture()
      role.thumbnail.beginPixels()
      role.waitForClose()
      return .exited(0)
    }
    let failure = try end(withEach: script, limits: limits)?.failure
    #expect(failure?.detail == "decoding took longer than 0.1 seconds")
  }

  @Test func `a decoder that closes its channel and lives on has crashed`() throws {
    // It ends only when it is told to.
    let script: Script = { role in
      _ = try role.takePicture()
      return nil
    }
    let failure = try end(withEach: script)?.failure
    #expect(failure?.code == .decodeCrash)
    #expect(failure?.detail == "the decoder closed its connection")
  }

  @Test func `a decoder that works without a picture is replaced`() throws {
    let busy = try ChildProcess.spawn(
      executable: "/bin/sh", arguments: ["-c", "while :; do :; done"], environment: [:],
      descriptors: [])
    defer {
      busy.signal(SIGKILL)
      _ = busy.waitForExit(until: .now + ProgramRun.patience)
    }
    let processID = busy.processID
    let script: Script = { role in
      try role.channel.send(ScriptedDecoder.ready(processID: processID))
      role.waitForClose()
      return .exited(0)
    }
    let running = try RunningDecodeThread(scripts: [script])
    try running.run { running.endedDecoders == [DecoderID(rawValue: 1)] }
    #expect(try running.decode(picture)?.thumbnail?.width == 256)
  }

  @Test func `a refused allocation before the death is out_of_memory`() throws {
    let script: Script = { role in
      _ = try role.takePicture()
      role.thumbnail.recordRefusedAllocations { address in
        let word = unsafe UnsafeMutablePointer<UInt64>(bitPattern: address)
        unsafe word?.pointee = 1 << 20
      }
      return .signalled(SIGTRAP)
    }
    #expect(try end(withEach: script)?.failure?.code == .outOfMemory)
  }

  @Test func `a decoder that was refused memory is replaced, and its picture tried again`() throws {
    let refused = Self.says(.failed(.outOfMemory(decoderMemory: 1 << 20), picture: 1), thumbnail)
    let running = try RunningDecodeThread(scripts: [refused])
    #expect(try running.decode(picture)?.thumbnail?.width == 256)
    #expect(running.endedDecoders == [DecoderID(rawValue: 1)])
    #expect(try end(withEach: refused)?.failure?.code == .outOfMemory)
  }

  @Test func `a decoder is replaced after a thousand pictures`() throws {
    let running = try RunningDecodeThread(scripts: [Self.findsDamage])
    for lease in 1...1_000 as ClosedRange<UInt64> {
      let end = try running.decode([1], lease: LeaseID(rawValue: lease))
      #expect(end?.failure?.code == .corruptImage)
    }
    // The next is the program, if the spare is ready: wait for that.
    try running.run { running.endedDecoders == [DecoderID(rawValue: 1)] }
    #expect(try running.decode(picture, lease: 2_000)?.thumbnail?.width == 256)
  }

  @Test func `a decoder cannot choose another format, a larger size or another source`() throws {
    let drawing = Array(#"<svg xmlns="http://www.w3.org/2000/svg" width="32" height="24"/>"#.utf8)
    let lies: [(DecoderReport, [UInt8])] = [
      (decoded(format: .svg, byteCount: drawing.count), drawing),
      (decoded(width: 257), thumbnail), (decoded(sourceFormat: .png), thumbnail),
    ]
    for (report, bytes) in lies { try expectEnded(Self.says(report, bytes), "\(report)") }
  }

  @Test func `a decoder cannot announce pixels of another size or another picture`() throws {
    let pixels = [UInt8](repeating: 7, count: 32 * 24 * 4)
    let lies = [
      decoded(byteCount: pixels.count - 1), decoded(byteCount: pixels.count + 1),
      decoded(width: 31, byteCount: pixels.count), decoded(width: 257, byteCount: 257 * 24 * 4),
      decoded(format: .png, byteCount: pixels.count), decoded(),
    ]
    for report in lies {
      let running = try RunningDecodeThread(scripts: [Self.says(report, pixels)])
      #expect(try running.pixels(of: picture)?.thumbnail?.byteCount == 256 * 192 * 4, "\(report)")
      #expect(running.endedDecoders == [DecoderID(rawValue: 1)], "\(report)")
    }
    let truth = decoded(byteCount: pixels.count)
    let running = try RunningDecodeThread(scripts: [Self.says(truth, pixels)])
    #expect(try running.pixels(of: picture)?.thumbnail?.width == 32)
    #expect(running.results.first?.bytes == pixels)
  }

  @Test func `a decoder does not say which failures pass`() throws {
    let report = DecoderReport.failed(
      Failure(stage: .decode, code: .corruptImage, isRetryable: true, detail: ""), picture: 1)
    let failure = try end(with: [Self.says(report, thumbnail)])?.failure
    #expect(failure?.code == .corruptImage)
    #expect(failure?.isRetryable == false)
  }

  @Test func `a decoder that sends no frames is ended, and its picture tried again`() throws {
    try expectEnded(sends([0xFF, 0xFF, 0xFF, 0xFF, 0]))
  }

  @Test func `a decoder that says what none says is ended, and its picture tried again`() throws {
    let reports: [DecoderReport] = [
      decoded(byteCount: 0), decoded(byteCount: -1), decoded(byteCount: .max),
      decoded(byteCount: (64 << 20) + 1), decoded(format: .png), decoded(width: 0),
      decoded(count: 2),
      decoded(width: 1 << 30), decoded(sourceWidth: 0), decoded(sourceWidth: .max),
      decoded(picture: 0), decoded(picture: 2), decoded(isDamaged: true),
      .failed(Failure(stage: .decode, code: .corruptImage, detail: ""), picture: 2),
      .failed(Failure(stage: .decode, code: .storeFull, detail: ""), picture: 1),
      ScriptedDecoder.ready(),
      .refused(DecoderRefusal(reason: "no", isLasting: true)),
    ]
    for report in reports { try expectEnded(Self.says(report, thumbnail), "\(report)") }
  }

  @Test func `a decoder that makes up a ThumbHash is ended, and its picture tried again`() throws {
    let report = String(decoding: try WireCoding.frame(decoded()).dropFirst(4), as: UTF8.self)
    for text in ["", "2BcCA", "not base64", String(repeating: "A", count: 60)] {
      let lie = report.replacing(/"thumbhash":"[^"]*"/, with: #""thumbhash":"\#(text)""#)
      try expectEnded(sends(Self.frame(lie)), "\(text)")
    }
  }

  @Test func `a second answer to a picture is none to the next`() throws {
    let report = decoded()
    let script: Script = { [thumbnail] role in
      _ = try role.takePicture()
      role.thumbnail.put(thumbnail.span)
      for _ in 1...2 { try role.channel.send(report) }
      role.waitForClose()
      return .exited(0)
    }
    let running = try RunningDecodeThread(scripts: [script])
    #expect(try running.decode(picture, lease: 1)?.thumbnail?.width == 32)
    #expect(try running.decode(picture, lease: 2)?.thumbnail?.width == 256)
    #expect(running.endedDecoders == [DecoderID(rawValue: 1)])
  }

  @Test func `a thumbnail that its decoder goes on changing is what was checked, or none`() throws {
    let report = decoded()
    let script: Script = { [thumbnail] role in
      _ = try role.takePicture()
      role.thumbnail.put(thumbnail.span)
      try role.channel.send(report)
      let garbage = [UInt8](repeating: 0, count: thumbnail.count)
      for _ in 1...1_000 {
        role.thumbnail.put(garbage.span)
        role.thumbnail.put(thumbnail.span)
      }
      role.waitForClose()
      return .exited(0)
    }
    let running = try RunningDecodeThread(scripts: [script])
    let width = try running.decode(picture)?.thumbnail?.width
    #expect(width == 32 || width == 256)
    #expect(running.results.first?.bytes.map(FormatSniffer.sniff) == .picture(.jpeg))
  }

  @Test func `a decoder that passes a file on is ended, and its picture tried again`() throws {
    try expectEnded(sends(WireCoding.frame(decoded()), passing: 0))
  }

  @Test func `a decoder finds nothing of earlier pictures behind its picture`() throws {
    let script: Script = { role in
      var request = try role.takePicture()
      for picture in 1...2 as ClosedRange<UInt64> {
        let end = request.byteCount
        let rest = role.picture.withPicture(byteCount: end + 100) { bytes in
          (end..<(end + 100)).contains { bytes[$0] != 0 }
        }
        let failure = Failure(stage: .decode, code: rest ? .internal : .corruptImage, detail: "")
        try role.channel.send(.failed(failure, picture: picture))
        if picture == 1 { request = try role.nextPicture() }
      }
      role.waitForClose()
      return .exited(0)
    }
    let running = try RunningDecodeThread(scripts: [script])
    let long = [UInt8](repeating: 1, count: 1_000)
    #expect(try running.decode(long, lease: 1)?.failure?.code == .corruptImage)
    #expect(try running.decode([1], lease: 2)?.failure?.code == .corruptImage)
  }

  @Test func `a failure that a decoder reports is cut to what a failure may say`() throws {
    // As a decoder would have to encode it by itself.
    let detail = String(repeating: "x", count: 1_000)
    let report =
      #"{"type":"failed","picture":1,"stage":"fetch","code":"corrupt_image","retryable":true,"detail":"\#(detail)"}"#
    let failure = try end(with: [sends(Self.frame(report))])?.failure
    #expect(failure?.stage == .decode)
    #expect(failure?.detail.utf8.count == Failure.maximumDetailByteCount)
  }

  @Test func `a decoder that cannot start says why, and the thread gives up`() throws {
    let script: Script = { role in
      let refusal = DecoderRefusal(reason: "this kernel lacks Landlock", isLasting: true)
      try role.channel.send(.refused(refusal))
      return .exited(1)
    }
    let running = try RunningDecodeThread(scripts: [script])
    try running.run { running.failure != nil }
    #expect(running.failure == "this kernel lacks Landlock")
    #expect(!running.isReady)
  }

  @Test func `a decoder that cannot start for a moment is replaced after a while`() throws {
    let script: Script = { role in
      try role.channel.send(.refused(DecoderRefusal(reason: "no memory", isLasting: false)))
      return .exited(1)
    }
    let running = try RunningDecodeThread(scripts: [script, script])
    #expect(try running.decode(picture)?.thumbnail?.width == 256)
    #expect(running.failure == nil)
  }

  @Test func `spares that die after they were ready are no failed starts`() throws {
    let spare: Script = { role in
      try role.channel.send(ScriptedDecoder.ready())
      return .signalled(SIGTERM)
    }
    let spares = Array(repeating: spare, count: 10)
    let running = try RunningDecodeThread(scripts: [Self.findsDamage] + spares)
    var lease: UInt64 = 0
    while running.host.startCount < 12, running.failure == nil {
      lease += 1
      _ = try running.decode([1], lease: LeaseID(rawValue: lease))
    }
    #expect(running.failure == nil)
  }

  @Test func `a decoder that dies at its start is replaced after a while`() throws {
    let dies: Script = { _ in .signalled(SIGSEGV) }
    let running = try RunningDecodeThread(scripts: [dies, dies])
    #expect(try running.decode(picture)?.thumbnail?.width == 256)
  }
}
