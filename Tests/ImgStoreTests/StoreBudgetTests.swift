import ImgSystem
import Testing

@testable import ImgStore

@Suite struct StoreBudgetTests {
  private static let mebibyte: Int64 = 1 << 20

  private func budget(
    file: Int64, free: Int64, of disk: Int64, configured: Int64 = 400
  ) -> StoreBudget {
    StoreBudget(
      configuredByteCount: configured * Self.mebibyte, fileByteCount: Int(file * Self.mebibyte),
      disk: DiskSpace(byteCount: disk * Self.mebibyte, freeByteCount: free * Self.mebibyte))
  }

  @Test func `a disk with enough space does not change the budget`() {
    let budget = budget(file: 10, free: 700, of: 4_000)
    #expect(!budget.isLimitedByDisk)
    #expect(budget.effectiveByteCount == 400 * Self.mebibyte)
  }

  @Test func `a disk of unknown size does not change the budget`() {
    let budget = StoreBudget(configuredByteCount: 1, fileByteCount: 2, disk: nil)
    #expect(budget.effectiveByteCount == 1)
    #expect(!budget.isLimitedByDisk)
  }

  @Test func `the budget is the size of the file plus the free space, less a margin and slack`() {
    // A sixteenth of the disk stays free.
    let small = budget(file: 40, free: 14, of: 64)
    #expect(small.isLimitedByDisk)
    #expect(small.effectiveByteCount == 40 * Self.mebibyte)
    // On a large one, 64 MiB.
    #expect(budget(file: 40, free: 74, of: 1 << 20).effectiveByteCount == 40 * Self.mebibyte)
  }

  @Test func `a file that grows into the free space does not change the budget`() {
    #expect(
      budget(file: 0, free: 90, of: 100).effectiveByteCount
        == budget(file: 60, free: 30, of: 100).effectiveByteCount)
  }

  @Test func `a full disk leaves the store its file`() {
    #expect(budget(file: 106, free: 0, of: 96).effectiveByteCount == 80 * Self.mebibyte)
    #expect(budget(file: 0, free: 0, of: 96).effectiveByteCount == 0)
  }
}
