import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct BodyBudgetsTests {
  private let budgets = BodyBudgets(memoryByteCount: 100, fileByteCount: 1_000)

  @Test func `the oldest transfer may pass the budget while nothing is handed out`() {
    budgets.begin(1)
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 150)))
    #expect(budgets.heldMemoryByteCount == 150)
  }

  @Test func `others share half, and wait until there is room`() {
    budgets.begin(1)
    budgets.begin(2)
    #expect(budgets.grow(2, to: BodyCharge(byteCount: 25)))
    #expect(!budgets.grow(2, to: BodyCharge(byteCount: 26)))
    #expect(budgets.nextToResume() == nil)
    budgets.end(1, isHandedOut: false)
    #expect(budgets.nextToResume() == 2)
    #expect(budgets.nextToResume() == nil)
  }

  @Test func `a body that is handed out is held until it is released`() {
    budgets.begin(1)
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 80)))
    budgets.end(1, isHandedOut: true)
    #expect(budgets.heldMemoryByteCount == 80)
    budgets.begin(2)
    #expect(!budgets.grow(2, to: BodyCharge(byteCount: 21)))
    budgets.release(BodyCharge(byteCount: 80))
    #expect(budgets.heldMemoryByteCount == 0)
    #expect(budgets.nextToResume() == 2)
  }

  @Test func `a body waits for memory only where most of it is handed out`() {
    for id in 1...3 as ClosedRange<UInt64> { budgets.begin(id) }
    #expect(budgets.grow(2, to: BodyCharge(byteCount: 30)))
    #expect(budgets.prefersFiles)
    budgets.end(2, isHandedOut: true)
    #expect(!budgets.prefersFiles)
  }

  @Test func `a body that waited for both budgets holds up no other in files`() {
    for id in 1...3 as ClosedRange<UInt64> { budgets.begin(id) }
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 1, isOfFile: true)))
    #expect(!budgets.grow(2, to: BodyCharge(byteCount: 60)))
    #expect(!budgets.grow(2, to: BodyCharge(byteCount: 2_000, isOfFile: true)))
    #expect(!budgets.grow(3, to: BodyCharge(byteCount: 2, isOfFile: true)))
    budgets.end(1, isHandedOut: false)
    #expect(budgets.nextToResume() == 2)
    #expect(budgets.grow(2, to: BodyCharge(byteCount: 60)))
    #expect(budgets.nextToResume() == 3)
    #expect(!budgets.isWaiting(2))
  }

  @Test func `a body moves from memory to a file`() {
    budgets.begin(1)
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 80)))
    #expect(budgets.grow(1, to: BodyCharge(byteCount: 500, isOfFile: true)))
    budgets.leaveMemory(1)
    #expect(budgets.heldMemoryByteCount == 0)
    #expect(budgets.heldFileByteCount == 500)
    budgets.end(1, isHandedOut: false)
    #expect(budgets.heldFileByteCount == 0)
  }

  @Test(arguments: [false, true])
  func `a partial body for which there is no room is charged nothing`(isOfFile: Bool) {
    budgets.begin(1)
    let isBegun = budgets.begin(2, with: BodyCharge(byteCount: 500, isOfFile: isOfFile))
    #expect(isBegun == isOfFile)
    let held = (budgets.heldMemoryByteCount, budgets.heldFileByteCount)
    #expect(held == (isOfFile ? (0, 500) : (0, 0)))
    // It does not wait.
    budgets.end(1, isHandedOut: false)
    #expect(budgets.nextToResume() == nil)
  }
}
