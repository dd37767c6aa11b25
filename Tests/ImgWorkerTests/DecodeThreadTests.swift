import ImgDecode
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import ImgWorkerMachine
import TestFiles
import Testing

@testable import ImgWorker

@Suite(.timeLimit(.minutes(20))) struct DecodeThreadTests {
  @Test func `a job that is cancelled before its turn is not decoded`() throws {
    let directory = try TestDirectory()
    let store = try SharedStore(
      directory: directory.file("store"), access: .readWrite(budgetByteCount: 10 << 20))
    let inbox = try Mailbox<Input>()
    let thread = try DecodeThread(
      vips: VipsRuntime.start(), limits: Limits(), store: store,
      files: LocalFiles(directories: [], maximumByteCount: 0), heartbeat: WorkerHeartbeat(),
      capacity: 2,
      inbox: inbox)
    let cancelled = noPicture(1)
    cancelled.cancellation.set()
    thread.submit(cancelled)
    thread.submit(noPicture(2))

    let poller = try Poller()
    try poller.register(inbox.descriptor, .read, token: 1)
    let end = ContinuousClock.now + .seconds(60)
    var ends: [(lease: LeaseID, end: DecodeEnd)] = []
    while ends.count < 2, ContinuousClock.now < end {
      _ = try poller.wait(timeout: end - .now)
      for case .decoded(let lease, let end, _) in inbox.takeAll().map(\.event) {
        ends.append((lease, end))
      }
    }
    #expect(ends.map(\.lease) == [1, 2])
    #expect(ends.map { $0.end == .cancelled } == [true, false])
  }

  private func noPicture(_ lease: LeaseID) -> DecodeJob {
    DecodeJob(lease: lease, input: .bytes([0]), variant: .standard, isUrgent: false)
  }
}
