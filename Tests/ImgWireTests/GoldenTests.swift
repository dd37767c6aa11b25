import FoundationEssentials
import ImgWire
import Testing

/// The encoding of each message. A difference is a change of the protocol: raise
/// `Build.protocolVersion`, then run the tests with `IMGCTL_WRITE_GOLDEN=1` to rewrite the files.
@Suite struct GoldenTests {
  @Test func `each coordinator message is encoded as its golden file`() throws {
    try check(GoldenMessages.coordinatorMessages(), in: "CoordinatorMessage")
  }

  @Test func `each worker message is encoded as its golden file`() throws {
    try check(GoldenMessages.workerMessages(), in: "WorkerMessage")
  }

  @Test func `each decoder order is encoded as its golden file`() throws {
    try check(GoldenMessages.decoderOrders(), in: "DecoderOrder")
  }

  @Test func `each decoder report is encoded as its golden file`() throws {
    try check(GoldenMessages.decoderReports(), in: "DecoderReport")
  }

  @Test func `each client message is encoded as its golden file`() throws {
    try check(GoldenMessages.clientMessages(), in: "ClientMessage")
  }

  @Test func `each coordinator reply is encoded as its golden file`() throws {
    try check(GoldenMessages.coordinatorReplies(), in: "CoordinatorReply")
  }

  private func check<Message: WireMessage & Equatable>(
    _ messages: [String: Message], in folder: String
  ) throws {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Golden/\(folder)")
    for (name, message) in messages {
      let file = directory.appending(path: "\(name).json")
      let payload = Array(try WireCoding.frame(message).dropFirst(4))
      // Records are not text.
      guard message.numbers == nil else { continue }
      if ProcessInfo.processInfo.environment["IMGCTL_WRITE_GOLDEN"] == "1" {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data(payload + Array("\n".utf8)).write(to: file)
      }
      let golden = try Data(contentsOf: file)
      #expect(
        String(decoding: payload + Array("\n".utf8), as: UTF8.self)
          == String(decoding: golden, as: UTF8.self))
      #expect(try WireCoding.message(Message.self, from: ArraySlice(golden)) == message)
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    let texts = messages.filter { $0.value.numbers == nil }
    #expect(Set(files) == Set(texts.keys.map { "\($0).json" }))
  }
}
