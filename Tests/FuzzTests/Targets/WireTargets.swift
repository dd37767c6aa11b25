import FoundationEssentials
import ImgWire

extension FuzzTarget {
  static let wire = [
    FuzzTarget("frames", seeds: [Frame.encode(Array("{}".utf8)), [0, 0, 0, 0], [1, 2, 3, 4, 5]]) {
      bytes in
      // The same frames, however the bytes are split.
      precondition(frames(in: [bytes]) == frames(in: bytes.map { [$0] }), "frames differ")
    },
    messages(of: CoordinatorMessage.self, named: "coordinator-messages"),
    messages(of: WorkerMessage.self, named: "worker-messages"),
    messages(of: DecoderOrder.self, named: "decoder-orders"),
    messages(of: DecoderReport.self, named: "decoder-reports"),
    messages(of: ClientMessage.self, named: "client-messages"),
    messages(of: CoordinatorReply.self, named: "reply-messages"),
  ]

  private static func messages<Message: WireMessage & Equatable>(
    of type: Message.Type, named name: String
  ) -> FuzzTarget {
    let texts = [
      #"{"type":"hello","protocol_version":9,"version":"0.1.0","process_id":1}"#,
      #"{"type":"cancel","leases":[1,2]}"#, #"{"type":"list"}"#, #"{"type":"status"}"#,
      #"{"type":"ready","lookups":256,"leases":128,"backlog":8}"#,
      #"{"type":"finished","results":[{"lease":1,"outcome":{"type":"cancelled"}}]}"#,
    ]
    // Those that the program writes, which have readers of their own.
    let canonical = [
      #"{"items":[{"lease":17,"url":"http://a/"}],"request":{"fetch":{"cache_policy":"reload","#
        + #""headers":[],"ignore_query":[],"respect_opt_out":true,"respect_robots":true},"#
        + #""keep":"all","lenient":false,"no_cache":false,"variant":{"crop":true,"format":"jpeg","#
        + #""height":300,"mode":"fill","quality":70,"width":400}},"retention":{"#
        + #""expire_after_ms":36,"expire_on_access_ms":6},"stale_if_error":false,"#
        + #""type":"lookup","urgent":false}"#,
      #"{"hits":[{"lease":17,"thumbnail":{"bytes":9182,"damaged":true,"format":"webp","#
        + #""height":171,"width":256}}],"misses":[18],"originals":[],"stale":[17],"#
        + #""type":"looked_up"}"#,
      #"{"decode_queue":5,"results":[{"lease":1,"outcome":{"bytes_fetched":8,"from_cache":false,"#
        + #""outcome":"done","thumbnail":{"bytes":9,"format":"webp","height":1,"width":2}},"#
        + #""redirected":false,"timings":{"connect":34,"ttfb":78}},{"lease":19,"outcome":{"#
        + #""outcome":"cancelled"},"redirected":false}],"type":"finished"}"#,
      #"{"leases":[1,18446744073709551615],"type":"transferred"}"#,
      #"{"id":5,"lines":["http://a/ü","x"],"type":"submit_lines"}"#,
      #"{"id":5,"outcome":{"failure":{"code":"http_status","detail":"a \"b\"","http_status":503,"#
        + #""retryable":true,"stage":"fetch"},"outcome":"failed"},"timings":{"dns":1},"#
        + #""type":"got"}"#,
    ]
    // Numbers in place of JSON, see the guide to the wire protocol.
    let records = [8, 9].map { count -> [UInt8] in
      [0] + (0..<count).flatMap { number -> [UInt8] in [UInt8(number), 1, 0, 0, 0, 0, 0, 0] }
    }
    return FuzzTarget(name, seeds: (texts + canonical).map { Array($0.utf8) } + records) {
      payload in
      checkReader(of: type, payload)
      guard let message = try? WireCoding.message(type, from: payload[...]),
        let frame = try? WireCoding.frame(message)
      else { return }
      // A message survives the way there and back.
      guard
        let again = try? WireCoding.message(type, from: frame.dropFirst(Frame.headerByteCount)),
        let other = try? WireCoding.frame(again)
      else { preconditionFailure("an encoded message cannot be decoded") }
      precondition(frame == other, "a message changes on the way")
    }
  }

  /// Canonical JSON is read without `JSONDecoder`, and says the same.
  private static func checkReader<Message: WireMessage & Equatable>(
    of type: Message.Type, _ payload: [UInt8]
  ) {
    guard payload.first == UInt8(ascii: "{") else { return }
    let message = try? WireCoding.message(type, from: payload[...])
    let expected = try? JSONDecoder().decode(type, from: Data(payload))
    precondition(message == expected, "a reader differs from JSONDecoder")
  }

  /// The payloads, and the error that ends them.
  private static func frames(in chunks: [[UInt8]]) -> [String] {
    var decoder = FrameDecoder()
    var found: [String] = []
    do throws(FrameError) {
      for chunk in chunks {
        decoder.append(chunk)
        while let payload = try decoder.next() { found.append("\(Array(payload))") }
      }
    } catch {
      found.append("\(error)")
    }
    return found
  }
}
