import ImgModel
import ImgSystem
import ImgTransport
import Testing

@Suite struct WorkerHeartbeatTests {
  @Test func `the coordinator sees what the worker is reading, and since when`() throws {
    let page = try WorkerHeartbeat()
    let descriptor = try page.duplicateDescriptor()
    let worker = try WorkerHeartbeat(adopting: descriptor)
    #expect(page.reading == nil)
    worker.withReading(of: LeaseID(rawValue: 7)) {
      #expect(page.reading?.lease == LeaseID(rawValue: 7))
    }
    #expect(page.reading == nil)
    worker.beat()
    #expect(page.age >= .zero)
  }

  @Test func `the coordinator sees which transfer the worker's loop works on`() throws {
    let page = try WorkerHeartbeat()
    let worker = try WorkerHeartbeat(adopting: try page.duplicateDescriptor())
    #expect(page.transferringLease == nil)
    worker.markTransfer(LeaseID(rawValue: 7))
    #expect(page.transferringLease == LeaseID(rawValue: 7))
    #expect(page.reading == nil)
    worker.markTransfer(nil)
    #expect(page.transferringLease == nil)
  }
}

extension WorkerHeartbeat {
  /// A second descriptor of the shared page, as a child inherits it.
  fileprivate func duplicateDescriptor() throws -> OwnedDescriptor {
    let original = OwnedDescriptor(adopting: descriptor)
    let copy = try original.duplicate()
    _ = original.release()
    return copy
  }
}
