import ImgModel
import ImgSystem
import ImgTransport
import Testing

/// Files beside messages: each arrives with its own.
@Suite(.timeLimit(.minutes(20))) struct PassedFileTests {
  private var soon: ContinuousClock.Instant { .now + .seconds(60) }

  @Test func `a file goes with its message, both ways`() throws {
    let (near, far) = try NoteChannel.pair()
    try near.send("there", withFile: true)
    try far.send("back", withFile: true)
    for (end, text) in [(far, "there"), (near, "back")] {
      let delivery = try end.nextDelivery(until: soon)
      #expect(delivery.message.text == text)
      #expect(try delivery.isWhole)
    }
  }

  @Test(arguments: [false, true])
  func `of many messages at once each has its own file or none`(isSocketFull: Bool) throws {
    let (near, far) = try NoteChannel.pair()
    // Behind these, all wait together.
    let long = String(repeating: "x", count: 300_000)
    while isSocketFull, !near.hasUnsent { try near.send(long, withFile: false) }
    let hasFile = (0..<60).map { $0 % 3 != 1 }
    for (number, withFile) in hasFile.enumerated() {
      try near.send("\(number)", withFile: withFile)
    }
    var deliveries: [Delivery<Note>] = []
    while deliveries.count < hasFile.count {
      try near.flush()
      deliveries += try far.receive().deliveries.filter { $0.message.text != long }
    }
    for (number, delivery) in deliveries.enumerated() {
      #expect(delivery.message == Note(text: "\(number)", announcesFile: hasFile[number]))
      #expect(try delivery.isWhole)
    }
  }

  @Test func `a file waits with its frame for room in the socket`() throws {
    let (near, far) = try NoteChannel.pair()
    let long = String(repeating: "x", count: 300_000)
    while !near.hasUnsent { try near.send(long, withFile: false) }
    for number in 0..<20 {
      try near.send("\(number) " + long, withFile: number % 2 == 0)
    }
    var notes: [String] = []
    while notes.last?.hasPrefix("19 ") != true {
      try near.flush()
      for delivery in try far.receive().deliveries {
        #expect(try delivery.isWhole)
        notes.append(delivery.message.text)
      }
    }
    let numbers = notes.compactMap { $0.split(separator: " ").first }.compactMap { Int($0) }
    #expect(numbers == Array(0..<20))
  }

  @Test(arguments: [1, 3, 7])
  func `a frame in pieces keeps the file that came with its first byte`(size: Int) throws {
    var pair = try UnixSocket.pair()
    let sender = pair.takeFirst()
    let channel = try NoteChannel(pair.takeSecond())
    for text in ["first", "second"] {
      let frame = try Note.frame(text, announcesFile: true)
      let file = try MemoryFile(containing: Array(text.utf8)).file
      for start in stride(from: 0, to: frame.count, by: size) {
        _ = try UnixSocket.send(
          sender.rawValue, frame[start..<min(start + size, frame.count)],
          passing: start == 0 ? file.descriptor : nil)
        let deliveries = try channel.receive().deliveries
        #expect(deliveries.count == (start + size >= frame.count ? 1 : 0))
        for delivery in deliveries { #expect(try delivery.isWhole) }
      }
    }
  }

  @Test func `a peer that leaves files unread is given up, not buffered for`() throws {
    let (near, far) = try NoteChannel.pair()
    var sentCount = 0
    #expect {
      while sentCount < 100_000 {
        try near.send("\(sentCount)", withFile: true)
        sentCount += 1
      }
    } throws: {
      if case ChannelError.peerDoesNotRead = $0 { true } else { false }
    }
    #expect(!near.takesFile)
    withExtendedLifetime(far) {}
  }

  @Test func `a file that is not taken is closed`() throws {
    let (near, far) = try NoteChannel.pair()
    let watched = try WatchedFile()
    try near.send(Note(text: "", announcesFile: true), with: watched.take())
    #expect(try far.next(until: soon).announcesFile)
    #expect(try watched.isClosed())
  }

  @Test func `files that are not sent yet are closed with their channel`() throws {
    let watched = try WatchedFile()
    var channels: (near: NoteChannel, far: NoteChannel)? = try NoteChannel.pair()
    let long = String(repeating: "x", count: 300_000)
    while channels?.near.hasUnsent == false { try channels?.near.send(long, withFile: false) }
    try channels?.near.send(Note(text: "", announcesFile: true), with: watched.take())
    channels = nil
    #expect(try watched.isClosed())
  }

  @Test func `a message that announces a file is not sent without it`() async {
    await #expect(processExitsWith: .failure) {
      let (near, far) = try NoteChannel.pair()
      try near.send(Note(text: "", announcesFile: true))
      withExtendedLifetime(far) {}
    }
  }
}
