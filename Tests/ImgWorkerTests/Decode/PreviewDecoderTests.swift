import Glibc
import ImgModel
import ImgWire
import ImgWorkerMachine
import TestPictures
import Testing

@testable import ImgWorker

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
