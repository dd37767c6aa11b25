import Glibc
import ImgModel
import ImgSniff
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

  @Test func `the spare decodes the picture of a decoder that hangs`() throws {
    var limits = Limits()
    // The spare needs a fraction of that on the slowest machine.
    limits.decodeTimeout = .seconds(5)
    let running = try RunningDecodeThread(limits: limits)
    try running.run { running.isReady }
    running.host.signal(DecoderID(rawValue: 1), SIGSTOP)
    #expect(try running.decode(picture)?.thumbnail?.width == 256)
    #expect(running.endedDecoders == [DecoderID(rawValue: 1)])
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
