import FoundationEssentials
import SeededRandom
import Testing

@_spi(Coding) @testable import ImgModel
@testable import ImgWire

/// The JSON of messages says the same as that of `JSONEncoder`, and what the reader takes, `JSONDecoder` takes
/// for the same.
@Suite struct CanonicalJSONTests {
  private var random = SeededGenerator(seed: 1)
  private static let rounds = 300

  @Test mutating func `random messages come back as they were sent`() throws {
    for _ in 0..<Self.rounds {
      try check(RandomMessages.coordinatorMessage(&random))
      try check(RandomMessages.workerMessage(&random))
      try check(RandomMessages.clientMessage(&random))
      try check(RandomMessages.reply(&random))
    }
  }

  private func check<Message: WireMessage & Equatable>(_ message: Message) throws {
    let payload = try payload(of: message)
    #expect(try WireCoding.message(Message.self, from: payload) == message)
    // Other programs may write white space.
    let spaced = [UInt8(ascii: " ")] + payload + [UInt8(ascii: "\n")]
    #expect(try WireCoding.message(Message.self, from: spaced[...]) == message)
  }

  @Test mutating func `JSONDecoder reads random payloads, and what JSONEncoder writes is read`()
    throws
  {
    for _ in 0..<Self.rounds {
      for payload in RandomMessages.payloads(&random) {
        try checkFoundation(payload)
      }
    }
  }

  private func checkFoundation<Payload: FieldValue & Equatable>(_ payload: Payload) throws {
    let written = try JSONDecoder().decode(Payload.self, from: Data(json(of: payload)))
    #expect(written == payload)
    let read = try Fields.value(Payload.self, of: Array(JSONEncoder().encode(payload))[...])
    #expect(read == payload)
  }

  @Test mutating func `the messages of each picture are read at once`() throws {
    var fields = Fields()
    for _ in 0..<Self.rounds {
      for payload in RandomMessages.payloads(&random) {
        try checkReadAtOnce(payload, &fields)
      }
    }
  }

  private func checkReadAtOnce<Payload: FieldValue & Equatable>(
    _ payload: Payload, _ fields: inout Fields
  ) throws {
    let json = json(of: payload)
    fields.isReading = true
    let read = try fields.readOnce(json[...], isLenient: false) { fields throws(FieldError) in
      try Payload.coded(&fields, nil)
    }
    #expect(read == payload)
  }

  @Test mutating func `damaged payloads are refused, or what JSONDecoder takes them for`() throws {
    for _ in 0..<Self.rounds {
      for payload in RandomMessages.payloads(&random) { checkDamaged(payload) }
    }
  }

  private mutating func checkDamaged<Payload: FieldValue & Equatable>(_ payload: Payload) {
    for _ in 0..<2 {
      var damaged = json(of: payload)
      for _ in 0..<Int.random(in: 1...2, using: &random) { damage(&damaged) }
      guard let decoded = try? Fields.value(Payload.self, of: damaged[...]) else { continue }
      let expected = try? JSONDecoder().decode(Payload.self, from: Data(damaged))
      #expect(decoded == expected, "\(String(decoding: damaged, as: UTF8.self))")
    }
  }

  private func json(of payload: some FieldValue) -> [UInt8] { Fields.json(of: payload) }

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
    #"{"type":"transferred","leases":[1]}"#, #"{ "leases" : [ 1 ] , "type" : "transferred" }"#,
    #"{"leases":[1],"type":"transferred","x":[{"y":-1.5e3},null,true,"\""]}"#,
    #"{"leases":[1],"type":"tran\u0073ferred"}"#, #"{"l\u0065ases":[1],"type":"transferred"}"#,
    #"{"leases":[1],"leases":[2],"type":"transferred"}"#,
    #"{"leases":[1],"type":"transferred","type":"released"}"#,
  ])
  func `JSON in another form says the same`(text: String) throws {
    let message = try WireCoding.message(WorkerMessage.self, from: ArraySlice(text.utf8))
    #expect(message == .transferred([LeaseID(rawValue: 1)]))
  }

  @Test(arguments: [
    #"{"leases":[18446744073709551616],"type":"transferred"}"#,
    #"{"leases":[-1],"type":"transferred"}"#, #"{"leases":[01],"type":"transferred"}"#,
    #"{"leases":[1.0],"type":"transferred"}"#, #"{"leases":[1e2],"type":"transferred"}"#,
    #"{"leases":[1,],"type":"transferred"}"#, #"{"leases":[1],"type":"transferred"}}"#,
    #"{"leases":[1],"type":"transferred","x":nil}"#, #"{"leases":[1],"type":"transferred",}"#,
    #"{"leases":[1],"type":"transferred","x":[}]}"#, #"{"leases":null,"type":"transferred"}"#,
    #"{"leases":[1],"type":"\ud800transferred"}"#, #"{"leases":[{"type":"transferred"}]}"#,
  ])
  func `what is not JSON, or not of the type, is no message`(text: String) {
    #expect(throws: MessageError.self) {
      try WireCoding.message(WorkerMessage.self, from: ArraySlice(text.utf8))
    }
  }

  @Test func `characters beyond 16 bits and escapes are read`() throws {
    let text = #"{"id":1,"lines":["\ud83c\udf01\u00e9\/\b\f\n\r\t\"\\"],"type":"submit_lines"}"#
    let message = try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    #expect(
      message
        == .submitLines(
          RequestID(rawValue: 1), ["\u{1F301}é/\u{8}\u{c}\n\r\t\"\\"]))
  }

  @Test func `the type and the number of the request are in front of the payload`() throws {
    let reply = CoordinatorReply.progress(
      RequestID(rawValue: 7), ImageProgress(receivedByteCount: 1, expectedByteCount: 2))
    let payload = try payload(of: reply)
    #expect(
      String(decoding: payload, as: UTF8.self)
        == #"{"type":"progress","id":7,"expected":2,"received":1}"#)
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
      #expect(try Array(frame) == WireCoding.frame(message))
      let payload = frame.dropFirst(Frame.headerByteCount)
      #expect(try coder.message(CoordinatorMessage.self, from: payload) == message)
    }
  }

  private func payload(of message: some WireMessage) throws -> ArraySlice<UInt8> {
    try WireCoding.frame(message).dropFirst(Frame.headerByteCount)
  }
}

/// Random messages of the kinds that are sent often.
enum RandomMessages {
  /// One payload of each direction.
  static func payloads(_ random: inout SeededGenerator) -> [any FieldValue & Equatable] {
    let fromCoordinator: any FieldValue & Equatable =
      switch coordinatorMessage(&random) {
      case .lookup(let batch), .fetch(let batch), .attach(let batch), .decode(let batch): batch
      default: preconditionFailure("a batch is sent often")
      }
    let fromWorker: any FieldValue & Equatable =
      switch workerMessage(&random) {
      case .transferred(let leases), .released(let leases): leases
      case .lookedUp(let results): results
      case .finished(let results): results
      default: preconditionFailure("results are sent often")
      }
    let fromClient: any FieldValue & Equatable =
      switch clientMessage(&random) {
      case .submitLines(_, let lines): lines
      case .get(_, let request): request
      default: preconditionFailure("lines and requests are sent often")
      }
    guard case .got(_, let got) = reply(&random) else {
      preconditionFailure("results are sent often")
    }
    return [fromCoordinator, fromWorker, fromClient, got]
  }

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
    case 0: .transferred(list(&random, lease))
    case 1: .released(list(&random, lease))
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
      var lines = ListLines()
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        let columns = Bool.random(using: &random) ? LineColumns(texts: [text(&random)]) : nil
        lines.append(
          ListLine(
            text(&random), at: LinePlace(line: .random(in: 1...3, using: &random), list: 1),
            columns: columns ?? .none))
      }
      return .submitLines(id, lines)
    }
    let options = RequestOptions(
      ThumbnailRequest(
        variant: request(&random).variant, isLenient: .random(using: &random),
        bypassesStore: .random(using: &random)),
      priority: Int.random(in: -2...2, using: &random),
      delay: .milliseconds(Int.random(in: 0...1_000, using: &random)))
    return .get(
      id,
      GetRequest(
        url: text(&random), viewer: Bool.random(using: &random) ? text(&random) : nil,
        options: options,
        updates: ArrivalUpdates(rawValue: .random(in: 0...3, using: &random)),
        maximumRetryAfter: Bool.random(using: &random) ? .seconds(2) : nil))
  }

  static func reply(_ random: inout SeededGenerator) -> CoordinatorReply {
    .got(
      RequestID(rawValue: .random(in: 0...UInt64.max, using: &random)),
      GotReply(
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
    var fields = Fields()
    let byteCount = fields.json(of: String(repeating: "a", count: 1 << 20)).count
    #expect(byteCount == (1 << 20) + 2)
    #expect(fields.writer.heldByteCount <= 32 << 10)
  }

  @Test(arguments: [(100, true), (1 << 20, false)])
  func `a memo keeps short JSON and no long`(byteCount: Int, isKept: Bool) {
    let memo = JSONMemo<Int>()
    memo.remember(7, [UInt8](repeating: UInt8(ascii: "1"), count: byteCount))
    #expect((memo.json(of: 7) != nil) == isKept)
    #expect(memo.json(of: 8) == nil)
  }
}
