import Testing

@testable import ImgSystem

struct AvailableMemoryTests {
  @Test func `the kernel's table is read in kibibytes`() {
    let text = "MemTotal:       100 kB\nMemFree:  7 kB\nMemAvailable:   40 kB\n"
    #expect(
      AvailableMemory(memoryInformation: text)
        == AvailableMemory(availableByteCount: 40_960, totalByteCount: 102_400))
    #expect(AvailableMemory(memoryInformation: "MemTotal: 1 kB\n") == nil)
  }

  @Test func `this machine has memory`() throws {
    let memory = try #require(AvailableMemory.now.first)
    #expect(memory.availableByteCount > 0)
    #expect(memory.totalByteCount >= memory.availableByteCount)
  }
}
