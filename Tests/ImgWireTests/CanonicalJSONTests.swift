import FoundationEssentials
import ImgModel
import ImgWire
import SeededRandom
import Testing

/// Messages with code of their own carry the same JSON as their `Codable`.
@Suite struct CanonicalJSONTests {
  private var random = SeededGenerator(seed: 1)
  private static let rounds = 300

  @Test mutating func `random messages of each direction have the JSON of JSONEncoder`() throws {
    for _ in 0..<Self.rounds {
      try check(RandomMessages.coordinatorMessage(&random))
      try check(RandomMessages.workerMessage(&random))
      try check(RandomMessages.clientMessage(&random))
      try check(RandomMessages.reply(&random))
    }
  }

  private func check<Message: WireMessage & Equatable>(_ message: Message) throws {
    let payload = try payload(of: message)
    let expected = try encoder.encode(message)
    #expect(String(decoding: payload, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
    #expect(try WireCoding.message(Message.self, from: payload) == message)
  }

  @Test mutating func `damaged messages are what JSONDecoder takes them for`() throws {
    for _ in 0..<Self.rounds {
      try checkDamaged(RandomMessages.coordinatorMessage(&random))
      try checkDamaged(RandomMessages.workerMessage(&random))
      try checkDamaged(RandomMessages.clientMessage(&random))
      try checkDamaged(RandomMessages.reply(&random))
    }
  }

  private mutating func checkDamaged<Message: WireMessage & Equatable>(_ message: Message) throws {
    let payload = Array(try payload(of: message))
    for _ in 0..<8 {
      var damaged = payload
      for _ in 0..<Int.random(in: 1...2, using: &random) { damage(&damaged) }
      let decoded = try? WireCoding.message(Message.self, from: damaged[...])
      let expected = try? JSONDecoder().decode(Message.self, from: Data(damaged))
      #expect(decoded == expected, "\(String(decoding: damaged, as: UTF8.self))")
    }
  }

  /// Changes what a reader could overlook: digits, punctuation, parts that are there twice or not.
  private mutating func damage(_ bytes: inout [UInt8]) {
    let index = Int.random(in: bytes.indices, using: &random)
    let length = Int.random(in: 1...12, using: &random)
    switch Int.random(in: 0..<5, using: &random) {
    case 0: bytes[index] = Array(#"{}[]",:\-+.eE0189tfn /"#.utf8).randomElement(using: &random) ?? 0
    case 1: bytes.remove(at: index)
    case 2: bytes.insert(contentsOf: bytes[index...].prefix(length), at: index)
    case 3: bytes.insert(.random(in: 0...255, using: &random), at: index)
    default: bytes.removeSubrange(index..<min(index + length, bytes.count))
    }
    if bytes.isEmpty { bytes = [UInt8(ascii: "{")] }
  }

  @Test(arguments: [
    #"{"leases":[18446744073709551615],"type":"transferred"}"#,
    #"{"leases":[18446744073709551616],"type":"transferred"}"#,
    #"{"leases":[-1],"type":"transferred"}"#, #"{"leases":[01],"type":"transferred"}"#,
    #"{"leases":[1.0],"type":"transferred"}"#, #"{"leases":[1e2],"type":"transferred"}"#,
    #"{"leases":[1,],"type":"transferred"}"#, #"{"leases":[1],"type":"transferred"} "#,
    #"{"leases":[1],"type":"transferred","type":"released"}"#,
    #"{"type":"transferred","leases":[1]}"#, #"{ "leases":[1],"type":"transferred"}"#,
    #"{"leases":[1],"type":"transferred","x":1}"#, #"{"leases":[1],"type":"transferred"}}"#,
    #"{"leases":[1],"type":"\u0072eleased"}"#,
  ])
  func `unusual JSON is what JSONDecoder takes it for`(text: String) {
    let decoded = try? WireCoding.message(WorkerMessage.self, from: ArraySlice(text.utf8))
    #expect(decoded == (try? JSONDecoder().decode(WorkerMessage.self, from: Data(text.utf8))))
  }

  @Test func `a text with invalid UTF-8 is no message`() {
    let payload =
      Array(#"{"id":1,"lines":["a"#.utf8) + [0xC0] + Array(#""],"type":"submit_lines"}"#.utf8)
    #expect(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: payload[...])
    }
  }

  @Test mutating func `messages of one connection do not mix their options`() throws {
    var coder = WireCoder()
    for _ in 0..<Self.rounds {
      let message = RandomMessages.coordinatorMessage(&random)
      let frame = try coder.frame(message)
      #expect(try frame == WireCoding.frame(message))
      let payload = frame.dropFirst(Frame.headerByteCount)
      #expect(try coder.message(CoordinatorMessage.self, from: payload) == message)
    }
  }

  private func payload(of message: some WireMessage) throws -> ArraySlice<UInt8> {
    try WireCoding.frame(message).dropFirst(Frame.headerByteCount)
  }

  private var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}
