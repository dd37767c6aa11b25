import Synchronization
import Testing

@testable import ImgClient

struct ConcurrencyLimitTests {
  /// Tasks that are under way.
  private final class Visitors: Sendable {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func enter() {
      counts.withLock { counts in
        counts.now += 1
        counts.most = max(counts.most, counts.now)
      }
    }

    func leave() { counts.withLock { $0.now -= 1 } }
  }

  @Test func `no more tasks than the limit go on at the same time`() async {
    let limit = ConcurrencyLimit(3)
    let visitors = Visitors()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask {
          guard await limit.enter() else { return }
          visitors.enter()
          for _ in 0..<10 { await Task.yield() }
          visitors.leave()
          limit.leave()
        }
      }
    }
    #expect((1...3).contains(visitors.most))
  }

  @Test func `a task that is cancelled does not wait, and takes no place`() async {
    let limit = ConcurrencyLimit(1)
    let first = await limit.enter()
    #expect(first)
    let cancelled = Task { await limit.enter() }
    cancelled.cancel()
    let entered = await cancelled.value
    #expect(!entered)
    let waiting = Task { await limit.enter() }
    limit.leave()
    let hasEntered = await waiting.value
    #expect(hasEntered)
  }
}
