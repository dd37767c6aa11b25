import FoundationEssentials
import ImgModel
import SeededRandom
import Testing

@testable import ImgWire

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

/// Random messages of the kinds that have code of their own.
enum RandomMessages {
  static func coordinatorMessage(_ random: inout SeededGenerator) -> CoordinatorMessage {
    let batch = Batch(
      request(&random),
      retention: Retention(
        after: .milliseconds(number(&random)),
        until: Bool.random(using: &random) ? WallTime(rawValue: 1_800_000_000_123) : nil,
        sliding: .milliseconds(number(&random))),
      isUrgent: .random(using: &random),
      items: list(&random) { Assignment(lease: lease(&$0), url: text(&$0)) },
      takesStale: .random(using: &random))
    return switch Int.random(in: 0..<4, using: &random) {
    case 0: .lookup(batch)
    case 1: .fetch(batch)
    case 2: .attach(batch)
    default: .decode(batch)
    }
  }

  static func workerMessage(_ random: inout SeededGenerator) -> WorkerMessage {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: .transferred(LeaseList(leases: list(&random, lease)))
    case 1: .released(LeaseList(leases: list(&random, lease)))
    case 2:
      .lookedUp(
        LookupResults(
          hits: list(&random) {
            LookupResults.Hit(lease: lease(&$0), thumbnail: thumbnail(&$0))
          }, stale: list(&random, lease), originals: list(&random, lease),
          misses: list(&random, lease)))
    default:
      .finished(
        FetchResults(
          results: list(&random, result), decodeQueueCount: Int.random(in: 0...9, using: &random)))
    }
  }

  static func clientMessage(_ random: inout SeededGenerator) -> ClientMessage {
    let id = RequestID(rawValue: .random(in: 0...UInt64.max, using: &random))
    guard Bool.random(using: &random) else {
      return .submitLines(SubmissionLines(id: id, lines: list(&random, text)))
    }
    let options = RequestOptions(
      variant: request(&random).variant, isLenient: .random(using: &random),
      priority: Int.random(in: -2...2, using: &random),
      delay: .milliseconds(Int.random(in: 0...1_000, using: &random)))
    return .get(
      GetRequest(
        id: id, url: text(&random), viewer: Bool.random(using: &random) ? text(&random) : nil,
        options: options, bypassesStore: .random(using: &random),
        wantsPreviews: .random(using: &random), wantsProgress: .random(using: &random),
        maximumRetryAfter: Bool.random(using: &random) ? .seconds(2) : nil))
  }

  static func reply(_ random: inout SeededGenerator) -> CoordinatorReply {
    .got(
      GotReply(
        id: RequestID(rawValue: .random(in: 0...UInt64.max, using: &random)),
        outcome: outcome(&random),
        timings: Bool.random(using: &random) ? timings(&random) : nil))
  }

  // MARK: - Values

  private static func result(_ random: inout SeededGenerator) -> FetchResults.Result {
    FetchResults.Result(
      lease: lease(&random), outcome: outcome(&random), wasRedirected: .random(using: &random),
      timings: Bool.random(using: &random) ? timings(&random) : nil,
      failureBehind: Bool.random(using: &random) ? failure(&random) : nil)
  }

  private static func outcome(_ random: inout SeededGenerator) -> Outcome {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: .cancelled
    case 1: .failed(failure(&random), bytesFetched: Int(number(&random)))
    default:
      .done(
        thumbnail(&random), fromCache: .random(using: &random), bytesFetched: Int(number(&random)))
    }
  }

  private static func failure(_ random: inout SeededGenerator) -> Failure {
    Failure(
      stage: Failure.Stage.allCases.randomElement(using: &random) ?? .fetch,
      code: Failure.Code.allCases.randomElement(using: &random) ?? .timeout,
      httpStatus: Bool.random(using: &random) ? 503 : nil, detail: text(&random))
  }

  private static func timings(_ random: inout SeededGenerator) -> Timings {
    var timings = Timings()
    let paths: [WritableKeyPath<Timings, Duration?>] = [
      \.dns, \.connect, \.tls, \.ttfb, \.download, \.decode, \.store,
    ]
    for path in paths where Bool.random(using: &random) {
      timings[keyPath: path] = .milliseconds(number(&random))
    }
    return timings
  }

  private static func thumbnail(_ random: inout SeededGenerator) -> Thumbnail {
    Thumbnail(
      format: ImageFormat.allCases.randomElement(using: &random) ?? .jpeg,
      width: Int(number(&random)), height: Int(number(&random)), byteCount: Int(number(&random)),
      isDamaged: .random(using: &random))
  }

  private static func request(_ random: inout SeededGenerator) -> ThumbnailRequest {
    let header = try? HeaderField(
      name: "x-\(Int.random(in: 0...9, using: &random))", value: #"a"b\c"#)
    let headers = [header].compactMap(\.self)
    let format = ImageVariant.Format.allCases.randomElement(using: &random) ?? .auto
    return ThumbnailRequest(
      variant: (try? Variant.standard.changed { $0.format = format }) ?? .standard,
      isLenient: .random(using: &random), keep: Keep.allCases.randomElement(using: &random) ?? .all,
      fetch: FetchOptions(
        headers: Bool.random(using: &random) ? (try? HeaderFields(headers)) ?? .none : .none))
  }

  private static func lease(_ random: inout SeededGenerator) -> LeaseID {
    LeaseID(
      rawValue: Bool.random(using: &random)
        ? .random(in: 0...99, using: &random) : .random(in: 0...UInt64.max, using: &random))
  }

  /// Small ones, large ones and both ends of the range.
  private static func number(_ random: inout SeededGenerator) -> Int64 {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: 0
    case 1: .max
    case 2: .random(in: 0...Int64.max, using: &random)
    default: .random(in: 0...9_999, using: &random)
    }
  }

  /// Text with everything that JSON escapes, and much that it does not.
  private static func text(_ random: inout SeededGenerator) -> String {
    let parts = [
      "http://a/", "é", "🜁", "\u{0}", "\u{1}", "\u{1f}", "\u{7f}", "\u{2028}", "\"", "\\", "/",
      "\n", "\r",
      "\t", "\u{8}", "\u{c}", " ", "?x=1",
    ]
    let isPlain = Bool.random(using: &random)
    return (0..<Int.random(in: 0...6, using: &random)).map { _ in
      (isPlain ? parts.first : parts.randomElement(using: &random)) ?? ""
    }.joined()
  }

  private static func list<Element>(
    _ random: inout SeededGenerator, _ element: (inout SeededGenerator) -> Element
  ) -> [Element] {
    (0..<Int.random(in: 0...3, using: &random)).map { _ in element(&random) }
  }
}

/// What a connection keeps of its messages: little, as nothing counts it.
@Suite struct JSONMemoryTests {
  @Test func `a writer keeps no large buffer`() {
    var writer = JSONWriter()
    writer.start(leadingByteCount: 4)
    writer.string(String(repeating: "a", count: 1 << 20))
    #expect(writer.finish().count == 4 + (1 << 20) + 2)
    #expect(writer.bytes.capacity <= 32 << 10)
  }

  @Test func `a memo decodes short JSON once`() throws {
    var memo = JSONMemo<Int>()
    #expect(try decodeCount(of: 100, twiceWith: &memo) == 1)
  }

  @Test func `a memo keeps no long JSON`() throws {
    var memo = JSONMemo<Int>()
    #expect(try decodeCount(of: 1 << 20, twiceWith: &memo) == 2)
  }

  private func decodeCount(of byteCount: Int, twiceWith memo: inout JSONMemo<Int>) throws -> Int {
    let json = [UInt8](repeating: UInt8(ascii: "1"), count: byteCount)
    var decodeCount = 0
    for _ in 0..<2 {
      _ = try memo.value(of: json[...]) { _ in
        decodeCount += 1
        return 1
      }
    }
    return decodeCount
  }
}
