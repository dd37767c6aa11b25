import ImgModel
import ImgWire
import Testing

/// Values in requests are checked where they come off the wire.
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

  private func get(_ members: String) -> String {
    #"{"type":"get","id":1,"url":"http://a/","no_cache":false,"options":{"priority":0,\#(members)"#
      + #""variant":{"width":1,"height":1,"mode":"fit","crop":false,"format":"auto","quality":80}}}"#
  }

  private func change(_ members: String) -> String {
    #"{"type":"change","id":1,"job":3,"change":{\#(members)}}"#
  }

  @Test(arguments: [
    (#""transfers":0"#, "the limit is from 1 to 1024"),
    (#""transfers":1025"#, "the limit is from 1 to 1024"),
    (#""transfers_per_host":0"#, "the limit is from 1 to 1024"),
    (#""host_rate_per_minute":-1"#, "the limit is from 0 to 600000"),
    (#""host_rate_per_minute":600001"#, "the limit is from 0 to 600000"),
    (#""default_expiry_ms":0"#, "the limit is from 1 to 3153600000000"),
    (#""default_expiry_ms":3153600000001"#, "the limit is from 1 to 3153600000000"),
    (#""transfers":1.5"#, "not a message of a client"),
  ])
  func `a limit out of range does not come off the wire`(members: String, reason: String) throws {
    #expect(try error(of: limit(members)).contains(reason))
  }

  @Test func `a limit that is not given stays as it is`() throws {
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
    limits.apply(LimitChange(defaultExpiryMilliseconds: 3_600_000))
    expected.defaultExpiryMilliseconds = 3_600_000
    #expect(limits == expected)
  }

  @Test(arguments: [
    (#""expire_after_ms":0,"#, "an expiry is from 1 ms to a century"),
    (#""expire_after_ms":3153600000001,"#, "an expiry is from 1 ms to a century"),
    (
      #""expire_after_ms":1,"expire_at":"2027-01-01T00:00:00.000Z","#,
      "an expiry is a duration or a date"
    ),
    (
      #""expire_on_access":true,"expire_at":"2027-01-01T00:00:00.000Z","#,
      "a date does not slide"
    ),
    (#""expire_at":"tomorrow","#, "tomorrow"),
  ])
  func `an expiry that makes no sense does not come off the wire`(
    members: String, reason: String
  ) throws {
    #expect(try error(of: get(#""delay_ms":0,"# + members)).contains(reason))
  }

  @Test(
    arguments: [
      ("", .standard), (#""expire_after_ms":1,"#, Expiry(.after(milliseconds: 1))),
      (#""expire_on_access":false,"#, .standard),
      (#""expire_on_access":true,"#, Expiry(.standard, isSliding: true)),
      (
        #""expire_on_access":true,"expire_after_ms":9,"#,
        Expiry(.after(milliseconds: 9), isSliding: true)
      ),
      (
        #""expire_at":"2027-01-01T00:00:00.001Z","#,
        Expiry(.at(WallTime(rawValue: 1_798_761_600_001)))
      ),
    ] as [(String, Expiry)])
  func `an expiry is read also where it is written as before there were dates`(
    members: String, expiry: Expiry
  ) throws {
    guard case .get(let request) = try message(get(#""delay_ms":0,"# + members)) else {
      Issue.record("no get")
      return
    }
    #expect(request.options.expiry == expiry)
  }

  @Test(arguments: [
    (#""delay_ms":-1,"#, "a delay is at most a day"),
    (#""delay_ms":86400001,"#, "a delay is at most a day"),
    ("", #""delay_ms" is missing"#),
  ])
  func `a delay out of range does not come off the wire`(members: String, reason: String) throws {
    #expect(try error(of: get(members)).contains(reason))
  }

  @Test(arguments: [0, 250, 86_400_000] as [Int64])
  func `a delay of up to a day does`(milliseconds: Int64) throws {
    guard case .get(let request) = try message(get(#""delay_ms":\#(milliseconds),"#)) else {
      Issue.record("no get")
      return
    }
    #expect(request.options.delayMilliseconds == milliseconds)
    #expect(request.viewer == nil)
  }

  @Test(arguments: [
    #""change":"prioritise","priority":3"#, #""change":"prioritise""#, #""change":"retry""#,
    #""change":"explode""#, #""priority":1"#,
  ])
  func `a change that is none does not come off the wire`(members: String) {
    #expect(throws: MessageError.self) { try message(change(members)) }
  }
}

@Suite struct JobStatusTests {
  private func status(
    _ state: JobRecord.State, isStarted: Bool = false, isDelayed: Bool = false,
    isCancelling: Bool = false
  ) -> JobStatus.State {
    let record = JobRecord(
      id: JobID(rawValue: 3), options: RequestOptions(variant: .standard), state: state,
      submittedAt: WallTime(rawValue: 0), startedAt: isStarted ? WallTime(rawValue: 1) : nil)
    return JobStatus(record, isDelayed: isDelayed, isCancelling: isCancelling).state
  }

  @Test func `a job is seen in one of seven states`() {
    #expect(status(.queued, isDelayed: true) == .scheduled)
    #expect(status(.queued) == .queued)
    #expect(status(.queued, isStarted: true) == .running)
    #expect(status(.paused, isStarted: true, isDelayed: true) == .paused)
    #expect(status(.paused, isStarted: true, isCancelling: true) == .cancelling)
    #expect(status(.queued, isDelayed: true, isCancelling: true) == .cancelling)
    #expect(status(.finished, isStarted: true, isCancelling: true) == .finished)
    #expect(status(.cancelled, isStarted: true, isCancelling: true) == .cancelled)
  }

  @Test func `the numbers add up`() {
    var counts = JobCounts(total: 10)
    counts.done = 3
    counts.failed = 2
    counts.retryable = 1
    let record = JobRecord(
      id: JobID(rawValue: 3), options: RequestOptions(variant: .standard, priority: 1),
      state: .queued, counts: counts, submittedAt: WallTime(rawValue: 0))
    let status = JobStatus(record, running: 4)
    #expect(status.queued == 1)
    #expect(status.retryable == 1)
    #expect(status.priority == 1)
    #expect(
      status.total == status.queued + status.running + status.done + status.failed
        + status.cancelled)
  }
}
