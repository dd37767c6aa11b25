import Testing

@testable import ImgScheduler

@Suite struct HostBacklogTests {
  private var backlog = HostBacklog()

  private mutating func count(beforeTransfer: Int = 0, waiting: Int = 0) {
    var change = HostBacklog()
    change.beforeTransfer = beforeTransfer
    change.waiting = waiting
    backlog.count(change, missWindow: 8)
  }

  @Test mutating func `there is no limit while no line had to wait`() {
    count(beforeTransfer: 1_000)
    #expect(!backlog.isFull)
    count(beforeTransfer: -1)
    #expect(!backlog.isFull)
  }

  @Test mutating func `once a line had to wait, few are taken up ahead`() {
    count(beforeTransfer: 4)
    count(beforeTransfer: -1, waiting: 1)
    #expect(!backlog.isFull)
    count(beforeTransfer: 4)
    #expect(backlog.isFull)
  }

  @Test mutating func `the limit stays when none waits any more`() {
    count(waiting: 1)
    count(waiting: -1)
    #expect(backlog.isEmpty)
    count(beforeTransfer: 8)
    #expect(backlog.isFull)
  }

  @Test mutating func `a full backlog shrinks to half before it grows again`() {
    count(waiting: 8)
    count(waiting: -3)
    #expect(backlog.isFull)
    count(waiting: -1)
    #expect(!backlog.isFull)
    count(waiting: 3)
    #expect(!backlog.isFull)
  }

  @Test mutating func `each hit makes room for one more line`() {
    count(waiting: 1)
    count(waiting: -1)
    count(beforeTransfer: 8)
    count(beforeTransfer: -8)
    count(beforeTransfer: 15)
    #expect(!backlog.isFull)
    count(beforeTransfer: 1)
    #expect(backlog.isFull)
  }

  @Test mutating func `a changed limit holds at once`() {
    count(waiting: 6)
    backlog.limit(to: 6)
    #expect(backlog.isFull)
    backlog.limit(to: 20)
    #expect(!backlog.isFull)
  }
}
