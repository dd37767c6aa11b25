import Glibc
import ImgSystem
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20))) struct PollerTests {
  @Test func `bytes to read are reported under the token until they are read`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    let poller = try Poller()
    try poller.register(near.rawValue, .read, token: 42)
    #expect(try poller.wait(timeout: .zero).isEmpty)

    _ = try UnixSocket.send(far.rawValue, [1])
    let expected = Poller.Readiness(token: 42, isReadable: true, isWritable: false, isHungUp: false)
    #expect(try poller.wait(timeout: nil) == [expected])
    #expect(try poller.wait(timeout: nil) == [expected])

    var buffer: [UInt8] = []
    _ = try UnixSocket.receive(near.rawValue, into: &buffer, upTo: 8)
    #expect(try poller.wait(timeout: .zero).isEmpty)
  }

  @Test func `an update changes interest and token`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let poller = try Poller()
    try poller.register(near.rawValue, [], token: 1)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    try poller.update(near.rawValue, [.read, .write], token: 2)
    let readiness = try poller.wait(timeout: nil)
    #expect(readiness.map(\.token) == [2])
    #expect(readiness.first?.isWritable == true)
    #expect(readiness.first?.isReadable == false)
  }

  @Test func `a descriptor that is registered again is watched again`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let poller = try Poller()
    try poller.register(near.rawValue, .write, token: 1)
    try poller.update(near.rawValue, .write, token: 1)
    poller.unregister(near.rawValue)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    try poller.register(near.rawValue, .write, token: 1)
    #expect(try poller.wait(timeout: nil).map(\.token) == [1])
  }

  @Test func `an update of a descriptor that is not registered is an error`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let poller = try Poller()
    try poller.register(near.rawValue, .write, token: 1)
    poller.unregister(near.rawValue)
    #expect(throws: SystemError.self) {
      try poller.update(near.rawValue, .write, token: 1)
    }
  }

  @Test func `a closed peer is a hang-up for every interest`() throws {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let poller = try Poller()
    try poller.register(near.rawValue, [], token: 1)
    do {
      _ = pair.takeSecond()
    }
    #expect(try poller.wait(timeout: nil).first?.isHungUp == true)
  }

  @Test func `nothing is reported for a descriptor after it is unregistered`() throws {
    let wakeup = try Wakeup()
    wakeup.signal()
    let poller = try Poller()
    try poller.register(wakeup.descriptor, .read, token: 1)
    poller.unregister(wakeup.descriptor)
    poller.unregister(wakeup.descriptor)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    try poller.register(wakeup.descriptor, .read, token: 2)
    #expect(try poller.wait(timeout: nil).map(\.token) == [2])
  }

  @Test func `a reused descriptor number has only its new owner's token`() throws {
    let poller = try Poller()
    let (first, second) = (try Wakeup(), try Wakeup())
    first.signal()
    // dup2 makes one number stand for one file after the other, as a close and an open would.
    let number = try UnixSocket.pairEnd().release()
    dup2(first.descriptor, number)
    try poller.register(number, .read, token: 1)
    #expect(try poller.wait(timeout: nil).map(\.token) == [1])

    poller.unregister(number)
    dup2(second.descriptor, number)
    try poller.register(number, .read, token: 2)
    #expect(try poller.wait(timeout: .zero).isEmpty)
    second.signal()
    #expect(try poller.wait(timeout: nil).map(\.token) == [2])
    _ = OwnedDescriptor(adopting: number)
  }

  @Test func `one wait returns at most the maximum of events, the next one the others`() throws {
    let poller = try Poller()
    let wakeups = try (0..<Poller.maximumEventCount + 10).map { _ in try Wakeup() }
    for (index, wakeup) in wakeups.enumerated() {
      wakeup.signal()
      try poller.register(wakeup.descriptor, .read, token: UInt64(index))
    }
    var seen: Set<UInt64> = []
    while seen.count < wakeups.count {
      let readiness = try poller.wait(timeout: .zero)
      #expect((1...Poller.maximumEventCount).contains(readiness.count))
      for event in readiness {
        wakeups[Int(event.token)].drain()
        seen.insert(event.token)
      }
    }
    #expect(try poller.wait(timeout: .zero).isEmpty)
  }

  @Test func `a descriptor can be registered only once`() throws {
    let wakeup = try Wakeup()
    let poller = try Poller()
    try poller.register(wakeup.descriptor, .read, token: 1)
    #expect(throws: SystemError(operation: "epoll_ctl", code: EEXIST)) {
      try poller.register(wakeup.descriptor, .read, token: 2)
    }
  }
}

extension UnixSocket {
  /// A descriptor for a test that needs a number.
  fileprivate static func pairEnd() throws -> OwnedDescriptor {
    var pair = try pair()
    return pair.takeFirst()
  }
}

@Suite(.timeLimit(.minutes(20))) struct MailboxTests {
  @Test func `a wake-up stays set until it is drained`() throws {
    let wakeup = try Wakeup()
    #expect(try !isReadable(wakeup.descriptor))
    wakeup.signal()
    wakeup.signal()
    #expect(try isReadable(wakeup.descriptor))
    wakeup.drain()
    #expect(try !isReadable(wakeup.descriptor))
    wakeup.drain()
  }

  @Test func `a blocking wait returns for an earlier wake-up and clears it`() throws {
    let wakeup = try Wakeup()
    wakeup.signal()
    wakeup.waitBlocking()
    #expect(try !isReadable(wakeup.descriptor))
  }

  @Test func `no message is lost while many threads post`() throws {
    let mailbox = try Mailbox<Int>()
    let posters = try (0..<4).map { poster in
      try ServiceThread<Void>(name: "poster", capacity: 1) { queue in
        while queue.take(upTo: 1) != nil {
          for number in 0..<1000 { mailbox.post(poster * 1000 + number) }
        }
      }
    }
    for poster in posters { #expect(poster.queue.push(())) }

    let poller = try Poller()
    try poller.register(mailbox.descriptor, .read, token: 1)
    var received: [Int] = []
    while received.count < 4000 {
      #expect(try !poller.wait(timeout: .seconds(60)).isEmpty)
      received += mailbox.takeAll()
    }
    #expect(received.sorted() == Array(0..<4000))
    for poster in 0..<4 {
      let own = received.filter { $0 / 1000 == poster }
      #expect(own == own.sorted())
    }
  }

  private func isReadable(_ descriptor: CInt) throws -> Bool {
    try UnixSocket.waitReadable(descriptor, until: .now)
  }
}

@Suite(.timeLimit(.minutes(20))) struct BlockingQueueTests {
  @Test func `a full queue refuses elements until there is room`() throws {
    let queue = try BlockingQueue<Int>(capacity: 2)
    #expect(queue.push(1))
    #expect(queue.push(2))
    #expect(!queue.push(3))
    #expect(queue.count == 2)
    #expect(queue.take(upTo: 1) == [1])
    #expect(queue.push(4))
    #expect(queue.take(upTo: 8) == [2, 4])
    #expect(queue.count == 0)
  }

  @Test func `several elements are added together or not at all`() throws {
    let queue = try BlockingQueue<Int>(capacity: 3)
    #expect(queue.push(contentsOf: [1, 2]))
    #expect(!queue.push(contentsOf: [3, 4]))
    #expect(queue.push(contentsOf: []))
    #expect(queue.take(upTo: 8) == [1, 2])
    #expect(queue.push(contentsOf: [5, 6, 7]))
    #expect(queue.take(upTo: 8, until: .now + .seconds(60)) == [5, 6, 7])
    queue.close()
    #expect(!queue.push(contentsOf: [8]))
  }

  @Test func `a closed queue refuses elements and returns queued ones, then nil`() throws {
    let queue = try BlockingQueue<Int>(capacity: 8)
    #expect(queue.push(1))
    queue.close()
    #expect(!queue.push(2))
    #expect(queue.take(upTo: 8) == [1])
    #expect(queue.take(upTo: 8) == nil)
    #expect(queue.take(upTo: 8) == nil)
  }

  @Test func `elements of many threads arrive once, in the order of each thread`() async throws {
    let received = Mutex<[Int]>([])
    let consumer = try ServiceThread<Int>(name: "consumer", capacity: 4000) { queue in
      while let batch = queue.take(upTo: 7) {
        received.withLock { $0 += batch }
      }
    }
    await withTaskGroup { group in
      for producer in 0..<8 {
        group.addTask {
          for number in 0..<500 {
            #expect(consumer.queue.push(producer * 500 + number))
          }
        }
      }
    }
    consumer.join()
    let all = received.withLock { $0 }
    #expect(all.sorted() == Array(0..<4000))
    for producer in 0..<8 {
      let own = all.filter { $0 / 500 == producer }
      #expect(own == own.sorted())
    }
  }

  @Test func `take with a deadline returns earlier elements or none`() throws {
    let queue = try BlockingQueue<Int>(capacity: 2)
    #expect(queue.take(upTo: 1, until: .now) == [])
    #expect(queue.take(upTo: 1, until: .now + .milliseconds(1)) == [])
    #expect(queue.push(1))
    #expect(queue.take(upTo: 1, until: .now) == [1])
    let producer = try ServiceThread<Int>(name: "producer", capacity: 1) { _ in
      #expect(queue.push(2))
    }
    #expect(queue.take(upTo: 1, until: .now + .seconds(240)) == [2])
    producer.join()
    queue.close()
    #expect(queue.take(upTo: 1, until: .now) == nil)
    #expect(queue.take(upTo: 1, until: .now + .seconds(240)) == nil)
  }

  @Test func `an urgent element is taken first`() throws {
    let queue = try BlockingQueue<Int>(capacity: 4)
    for number in 1...2 { #expect(queue.push(number)) }
    for number in 3...4 { #expect(queue.push(number, isFirst: true)) }
    #expect(queue.take(upTo: 4) == [4, 3, 1, 2])
  }
}

@Suite(.timeLimit(.minutes(20))) struct ServiceThreadTests {
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
      blocksTermination.store(unsafe sigismember(&mask, SIGTERM) == 1, ordering: .relaxed)
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
