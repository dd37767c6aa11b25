import ImgModel
import ImgWire
import Testing

/// Decoding validates the values of requests.
@Suite struct RequestValueTests {
  private func error(of text: String) throws -> String {
    let error = try #require(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    }
    return error.description
  }

  private func message(_ text: String) throws -> ClientMessage {
    try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
  }

  private func limit(_ members: String) -> String {
    #"{"type":"limit","id":1,"limits":{\#(members)}}"#
  }

  private func get(_ members: String, isSliding: Bool = false) -> String {
    #"{"type":"get","id":1,"url":"http://a/","incremental":false,"no_cache":false,"progress":false,"options":"#
      + #"{"priority":0,\#(members)"#
      + #""expire_on_access":\#(isSliding),"lenient":false,"keep":"thumbnail","#
      + #""fetch":{"headers":[],"ignore_query":[],"cache_policy":"reload","respect_opt_out":false,"#
      + #""respect_robots":false},"variant":{"width":1,"height":1,"mode":"fit","crop":false,"#
      + #""format":"auto","quality":80}}}"#
  }

  private func change(_ members: String) -> String {
    #"{"type":"change","id":1,"job":3,"change":{\#(members)}}"#
  }

  @Test(arguments: [
    (#""transfers":0"#, "the limit must be from 1 to 16384"),
    (#""transfers":16385"#, "the limit must be from 1 to 16384"),
    (#""transfers_per_host":0"#, "the limit must be from 1 to 16384"),
    (#""host_rate_per_minute":-1"#, "the limit must be from 0 to 600000"),
    (#""host_rate_per_minute":600001"#, "the limit must be from 0 to 600000"),
    (#""default_expiry_ms":0"#, "the limit must be from 1 to 3153600000000"),
    (#""default_expiry_ms":3153600000001"#, "the limit must be from 1 to 3153600000000"),
    (#""transfers":1.5"#, "not a message of a client"),
  ])
  func `a limit out of range is not decoded`(members: String, reason: String) throws {
    #expect(try error(of: limit(members)).contains(reason))
  }

  @Test func `a limit that is not set is unchanged`() throws {
    guard case .limit(let request) = try message(limit(#""transfers_per_host":1024"#)) else {
      Issue.record("no limit")
      return
    }
    var limits = Limits()
    limits.apply(request.limits)
    var expected = Limits()
    expected.transfersPerHost = 1_024
    #expect(limits == expected)
    limits.apply(LimitChange(transfers: 2, hostRatePerMinute: 0))
    expected.transfers = 2
    #expect(limits == expected)
    limits.apply(LimitChange(defaultExpiry: .seconds(3_600)))
    expected.defaultExpiry = .seconds(3_600)
    #expect(limits == expected)
  }

  @Test(arguments: [
    (#""expire_after_ms":0,"#, false, "the expiry must be from 1 ms to 100 years"),
    (#""expire_after_ms":3153600000001,"#, false, "the expiry must be from 1 ms to 100 years"),
    (
      #""expire_after_ms":1,"expire_at":"2027-01-01T00:00:00.000Z","#, false,
      "the expiry must be a duration or a date"
    ),
    (#""expire_at":"2027-01-01T00:00:00.000Z","#, true, "a date cannot slide"),
    (#""expire_at":"tomorrow","#, false, "tomorrow"),
  ])
  func `an invalid expiry is not decoded`(
    members: String, isSliding: Bool, reason: String
  ) throws {
    let text = get(#""delay_ms":0,"# + members, isSliding: isSliding)
    #expect(try error(of: text).contains(reason))
  }

  @Test(
    arguments: [
      ("", false, .standard), ("", true, Expiry(.standard, isSliding: true)),
      (#""expire_after_ms":1,"#, false, Expiry(.after(.milliseconds(1)))),
      (#""expire_after_ms":9,"#, true, Expiry(.after(.milliseconds(9)), isSliding: true)),
      (
        #""expire_at":"2027-01-01T00:00:00.001Z","#, false,
        Expiry(.at(WallTime(rawValue: 1_798_761_600_001)))
      ),
    ] as [(String, Bool, Expiry)])
  func `an expiry is decoded`(members: String, isSliding: Bool, expiry: Expiry) throws {
    let text = get(#""delay_ms":0,"# + members, isSliding: isSliding)
    guard case .get(let request) = try message(text) else {
      Issue.record("no get")
      return
    }
    #expect(request.options.expiry == expiry)
  }

  @Test(arguments: [
    (#""delay_ms":-1,"#, "the delay must be at most one day"),
    (#""delay_ms":86400001,"#, "the delay must be at most one day"),
    ("", #""delay_ms" is missing"#),
  ])
  func `a delay out of range is not decoded`(members: String, reason: String) throws {
    #expect(try error(of: get(members)).contains(reason))
  }

  @Test(arguments: [0, 250, 86_400_000] as [Int64])
  func `a delay of up to one day is decoded`(milliseconds: Int64) throws {
    guard case .get(let request) = try message(get(#""delay_ms":\#(milliseconds),"#)) else {
      Issue.record("no get")
      return
    }
    #expect(request.options.delay == .milliseconds(milliseconds))
    #expect(request.viewer == nil)
  }

  @Test(arguments: [
    #""change":"prioritise","priority":3"#, #""change":"prioritise""#, #""change":"retry""#,
    #""change":"explode""#, #""priority":1"#,
  ])
  func `an invalid change is not decoded`(members: String) {
    #expect(throws: MessageError.self) { try message(change(members)) }
  }
}
