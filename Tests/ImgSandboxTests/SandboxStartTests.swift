import Testing

@testable import ImgSandbox

struct SandboxStartTests {
  @Test func `all descriptors but the kept ones are closed`() {
    #expect(SandboxStart.decoder(keeping: [0, 1, 2, 3]).closedRanges == [4...(.max)])
    #expect(
      SandboxStart.worker(keeping: [2, 0, 5]).closedRanges == [1...1, 3...4, 6...(.max)])
    #expect(SandboxStart.decoder(keeping: []).closedRanges == [0...(.max)])
  }

  @Test func `a coordinator closes none, because it has inherited sockets`() {
    #expect(SandboxStart.coordinator.closedRanges.isEmpty)
  }

  @Test func `a process that has threads cannot be locked`() {
    #expect(throws: SandboxError.hasThreads) { _ = try Sandbox(start: .coordinator) }
  }
}
