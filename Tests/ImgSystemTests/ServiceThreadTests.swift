import Glibc
import ImgSystem
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ServiceThreadTests {
  @Test func `joining waits for queued jobs`() throws {
    let sum = Atomic(0)
    let thread = try ServiceThread<Int>(name: "sum", capacity: 100) { queue in
      while let batch = queue.take(upTo: 3) {
        sum.add(batch.reduce(0, +), ordering: .relaxed)
      }
    }
    for number in 1...100 { #expect(thread.queue.push(number)) }
    thread.join()
    #expect(sum.load(ordering: .relaxed) == 5050)
    #expect(!thread.queue.push(1))
    thread.join()
  }

  @Test func `the thread has its name and blocks every signal`() throws {
    let name = Mutex<[UInt8]>([])
    let blocksTermination = Atomic(false)
    let thread = try ServiceThread<Void>(name: "a-name-of-more-than-15", capacity: 1) { queue in
      _ = queue.take(upTo: 1)
      name.withLock { $0 = (try? FileIO.contents(of: "/proc/thread-self/comm", upTo: 64)) ?? [] }
      var mask = sigset_t()
      unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
      blocksTermination.store(
        unsafe sigismember(&mask, SIGTERM) == 1, ordering: .relaxed)
    }
    thread.join()
    #expect(String(decoding: name.withLock { $0 }, as: UTF8.self) == "a-name-of-more-\n")
    #expect(blocksTermination.load(ordering: .relaxed) == true)
  }

  @Test func `an impossible stack is an error, not a thread`() {
    #expect(throws: SystemError(operation: "pthread_attr_setstacksize", code: EINVAL)) {
      _ = try ServiceThread<Void>(name: "tiny", capacity: 1, stackByteCount: 1) { _ in }
    }
  }
}
