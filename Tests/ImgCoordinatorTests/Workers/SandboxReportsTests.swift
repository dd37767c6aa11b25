import ImgModel
import ImgWire
import Testing

@testable import ImgCoordinator

@Suite struct SandboxReportsTests {
  private let first = WorkerID(rawValue: 1)
  private let second = WorkerID(rawValue: 2)
  private let complete = SandboxReport(
    hasNoNewPrivileges: true, isNotDumpable: true, hasSystemCallFilter: true, landlockVersion: 7,
    hasOwnNetwork: true)
  private var reports = SandboxReports(coordinator: SandboxReport(isNotDumpable: true))

  @Test func `nothing is known before a worker has reported`() {
    #expect(reports.status.workers == nil)
    #expect(reports.status.decoders == nil)
    #expect(reports.status.coordinator == SandboxReport(isNotDumpable: true))
  }

  @Test mutating func `complete sandboxes give no warning`() {
    #expect(reports.add(WorkerSandbox(worker: complete, decoder: complete), of: first) == [])
    #expect(reports.status.workers == complete)
    #expect(reports.status.decoders == complete)
  }

  @Test mutating func `what a kernel lacks is a warning, once`() {
    var partial = complete
    partial.landlockVersion = nil
    let sandbox = WorkerSandbox(worker: complete, decoder: partial)
    let warning = "warning: the decoders run without Landlock, which the kernel lacks"
    #expect(reports.add(sandbox, of: first) == [warning])
    #expect(reports.add(sandbox, of: second) == [])
  }

  @Test mutating func `only what all processes have counts, until the others have ended`() {
    let older = SandboxReport(
      hasNoNewPrivileges: true, isNotDumpable: true, hasSystemCallFilter: true, landlockVersion: 6)
    _ = reports.add(WorkerSandbox(worker: complete, decoder: complete), of: first)
    _ = reports.add(WorkerSandbox(worker: complete, decoder: older), of: second)
    #expect(reports.status.decoders == older)
    reports.remove(second)
    #expect(reports.status.decoders == complete)
  }
}
