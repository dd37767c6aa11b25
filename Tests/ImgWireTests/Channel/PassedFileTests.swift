import ImgModel
import ImgSystem
import ImgWire
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
    let long = String(repeating: "x", count: 30_000)
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

/// The memory that a worker shares with a decoder.
@Suite struct DecoderMemoryTests {
  @Test func `a decoder reads the picture that its worker has put`() throws {
    let worker = try PictureMemory(maximumByteCount: 4)
    let decoder = try PictureMemory(mapping: worker.file)
    worker.put([1, 2, 3].span)
    #expect(decoder.withPicture(byteCount: 3) { $0.count } == 3)
    #expect(decoder.withPicture(byteCount: 3) { $0[2] } == 3)
    #expect(decoder.maximumByteCount == 4)
  }

  @Test func `a picture that was cleared is zeros`() throws {
    let worker = try PictureMemory(maximumByteCount: 4)
    let decoder = try PictureMemory(mapping: worker.file)
    worker.put([1, 2, 3].span)
    worker.clear(byteCount: 2)
    #expect(decoder.withPicture(byteCount: 3) { [$0[0], $0[1], $0[2]] } == [0, 0, 3])
  }

  @Test func `a picture is put from an open file`() throws {
    let memory = try PictureMemory(maximumByteCount: 4)
    let file = try MemoryFile(containing: [5, 6]).file
    #expect(try memory.put(contentsOf: file.descriptor, upTo: 4) == 2)
    #expect(memory.withPicture(byteCount: 2) { $0[1] } == 6)
  }

  @Test func `a worker copies the thumbnail that a decoder has put`() throws {
    let worker = try ThumbnailMemory(maximumByteCount: 4)
    let decoder = try ThumbnailMemory(mapping: worker.file)
    #expect(decoder.maximumByteCount == 4)
    decoder.put([1, 2, 3, 4].span)
    #expect(worker.thumbnail(byteCount: 4) == [1, 2, 3, 4])
    try worker.releaseThumbnail()
    #expect(worker.thumbnail(byteCount: 4) == [0, 0, 0, 0])
  }

  @Test(arguments: [.min, -1, 0, 5, .max])
  func `a thumbnail of impossible size is none`(byteCount: Int) throws {
    #expect(try ThumbnailMemory(maximumByteCount: 4).thumbnail(byteCount: byteCount) == nil)
  }

  @Test func `the worker sees when the decoder has read the header`() throws {
    let worker = try ThumbnailMemory(maximumByteCount: 4)
    let decoder = try ThumbnailMemory(mapping: worker.file)
    worker.beginPicture()
    #expect(worker.isInHeader)
    decoder.beginPixels()
    #expect(!worker.isInHeader)
    worker.beginPicture()
    #expect(worker.isInHeader)
  }
}

@Suite struct WorkerHeartbeatTests {
  @Test func `the coordinator sees what the worker is reading, and since when`() throws {
    let page = try WorkerHeartbeat()
    let descriptor = try page.duplicateDescriptor()
    let worker = try WorkerHeartbeat(adopting: descriptor)
    #expect(page.reading == nil)
    worker.withReading(of: LeaseID(rawValue: 7)) {
      #expect(page.reading?.lease == LeaseID(rawValue: 7))
    }
    #expect(page.reading == nil)
    worker.beat()
    #expect(page.age >= .zero)
  }

  @Test func `the coordinator sees which transfer the worker's loop works on`() throws {
    let page = try WorkerHeartbeat()
    let worker = try WorkerHeartbeat(adopting: try page.duplicateDescriptor())
    #expect(page.transferringLease == nil)
    worker.markTransfer(LeaseID(rawValue: 7))
    #expect(page.transferringLease == LeaseID(rawValue: 7))
    #expect(page.reading == nil)
    worker.markTransfer(nil)
    #expect(page.transferringLease == nil)
  }
}

extension WorkerHeartbeat {
  /// A second descriptor of the shared page, as a child inherits it.
  fileprivate func duplicateDescriptor() throws -> OwnedDescriptor {
    let original = OwnedDescriptor(adopting: descriptor)
    let copy = try original.duplicate()
    _ = original.release()
    return copy
  }
}
