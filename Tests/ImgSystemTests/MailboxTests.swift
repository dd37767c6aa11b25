import ImgSystem
import Testing

@Suite(.timeLimit(.minutes(20)))
struct MailboxTests {
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

  @Test func `messages arrive once, in the order of posting`() throws {
    let mailbox = try Mailbox<Int>()
    mailbox.post(1)
    mailbox.post(2)
    #expect(try isReadable(mailbox.descriptor))
    #expect(mailbox.takeAll() == [1, 2])
    #expect(mailbox.takeAll() == [])
    #expect(try !isReadable(mailbox.descriptor))
    mailbox.post(contentsOf: [])
    #expect(try !isReadable(mailbox.descriptor))
    mailbox.post(contentsOf: [3, 4])
    #expect(try isReadable(mailbox.descriptor))
    mailbox.post(5)
    #expect(mailbox.takeAll() == [3, 4, 5])
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
