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

  private static func messages<Message: WireMessage>(
    of type: Message.Type, named name: String
  ) -> FuzzTarget {
    let texts = [
      #"{"type":"hello","protocol_version":9,"version":"0.1.0","process_id":1}"#,
      #"{"type":"cancel","leases":[1,2]}"#, #"{"type":"list"}"#, #"{"type":"status"}"#,
      #"{"type":"ready","lookups":256,"leases":128,"backlog":8}"#,
      #"{"type":"finished","results":[{"lease":1,"outcome":{"type":"cancelled"}}]}"#,
    ]
    // Numbers in place of JSON, see the guide to the wire protocol.
    let records = [8, 9].map { count -> [UInt8] in
      [0] + (0..<count).flatMap { number -> [UInt8] in [UInt8(number), 1, 0, 0, 0, 0, 0, 0] }
    }
    return FuzzTarget(name, seeds: texts.map { Array($0.utf8) } + records) { payload in
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
