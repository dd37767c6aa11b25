import ImgCommands
import ImgModel
import Testing

@Suite struct WaitNotesTests {
  private static func moment(_ second: Int64) -> WallTime { WallTime(rawValue: second * 1_000) }

  @Test func `a host at its rate limit is noted once`() {
    var notes = WaitNotes()
    let first = notes.note(
      on: Wait(.hostRate, host: "h", until: Self.moment(1)), at: Self.moment(0))
    #expect(first == "waiting: h has reached --rate-per-host, next request in 0:01\n")
    let second = notes.note(
      on: Wait(.hostRate, host: "h", until: Self.moment(2)), at: Self.moment(1))
    #expect(second == nil)
  }

  @Test func `another host and another reason are noted`() {
    var notes = WaitNotes()
    let waits = [
      Wait(.hostRate, host: "h"), Wait(.hostRate, host: "other"), Wait(.hostFull, host: "other"),
      Wait(.hostRate, host: "other"),
    ]
    for wait in waits {
      #expect(notes.note(on: wait, at: Self.moment(0)) != nil, "\(wait)")
    }
  }

  @Test func `each retry is noted`() {
    var notes = WaitNotes()
    for attempt in 2...3 {
      let wait = Wait(.backoff, host: "h", httpStatus: 503, attempt: attempt)
      #expect(notes.note(on: wait, at: Self.moment(0)) != nil)
    }
  }
}
