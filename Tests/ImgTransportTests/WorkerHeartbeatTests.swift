import ImgModel
import ImgSystem
import ImgTransport
import Testing

@Suite struct WorkerHeartbeatTests {
  @Test func `the coordinator sees what the worker is decoding, and since when`() throws {
    let page = try WorkerHeartbeat()
    let descriptor = try page.duplicateDescriptor()
    let worker = try WorkerHeartbeat(adopting: descriptor)
    #expect(page.decoding == nil)
    worker.withDecoding(of: LeaseID(rawValue: 7)) {
      #expect(page.decoding?.lease == LeaseID(rawValue: 7))
    }
    #expect(page.decoding == nil)
    worker.beat()
    #expect(page.age >= .zero)
  }

  @Test func `the coordinator sees which transfer the worker's loop works on`() throws {
    let page = try WorkerHeartbeat()
    let worker = try WorkerHeartbeat(adopting: try page.duplicateDescriptor())
    #expect(page.transferringLease == nil)
    worker.markTransfer(LeaseID(rawValue: 7))
    #expect(page.transferringLease == LeaseID(rawValue: 7))
    #expect(page.decoding == nil)
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
