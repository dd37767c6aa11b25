import ImgDecode
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import TestFiles
import Testing

@testable import ImgWorker

@Suite(.timeLimit(.minutes(20))) struct DecodeThreadTests {
  @Test func `a job that is cancelled before its turn is not decoded`() throws {
    let directory = try TestDirectory()
    let store = try SharedStore(
      directory: directory.file("store"), access: .readWrite(budgetByteCount: 10 << 20))
    let results = try Mailbox<DecodeResult>()
    let thread = try DecodeThread(
      vips: VipsRuntime.start(), limits: Limits(), store: store,
      files: LocalFiles(directories: [], maximumByteCount: 0), board: WorkerHeartbeat(),
      capacity: 2, results: results)
    let cancelled = Cancellation()
    cancelled.set()
    thread.submit(noPicture(1, cancelled))
    thread.submit(noPicture(2, Cancellation()))

    let poller = try Poller()
    try poller.register(results.descriptor, .read, token: 1)
    let end = ContinuousClock.now + .seconds(60)
    var found: [DecodeResult] = []
    while found.count < 2, ContinuousClock.now < end {
      _ = try poller.wait(timeout: end - .now)
      found += results.takeAll()
    }
    #expect(found.map(\.lease) == [1, 2])
    #expect(found.map { if case .cancelled = $0.end { true } else { false } } == [true, false])
  }

  private func noPicture(_ lease: LeaseID, _ cancellation: Cancellation) -> DecodeJob {
    DecodeJob(
      lease: lease, source: .body(.memory([0])), variant: .standard, isUrgent: false,
      cancellation: cancellation)
  }
}
