import TestOrigin
import Testing

@Suite(.timeLimit(.minutes(20)))
struct LogTests {
  @Test func `the log has every start and every end in its order`() throws {
    let origin = try TestOrigin()
    origin.serve("/held", .body(Array("late".utf8), delivery: .hold))
    origin.serve("/free", .body(Array("soon".utf8)))
    var patient = try RawClient(port: origin.port)
    patient.request("/held")
    #expect(origin.waitUntil { $0.totals.inFlight == 1 })
    do {
      let client = try RawClient(port: origin.port)
      client.request("/held")
      #expect(origin.waitUntil { $0.totals.inFlight == 2 })
      _ = try RawClient.fetch("/free", from: origin.port)
    }
    #expect(origin.waitUntil { $0.totals.aborted == 1 })
    origin.release("/held")
    _ = patient.remainder()
    _ = try RawClient.fetch("/free", from: origin.port)

    let snapshot = origin.snapshot
    #expect(snapshot.log.map(\.request) == [1, 2, 3, 3, 2, 1, 4, 4])
    #expect(
      snapshot.log.map(\.kind)
        == [.started, .started, .started, .landed, .aborted, .landed, .started, .landed])
    #expect(zip(snapshot.log, snapshot.log.dropFirst()).allSatisfy { $0.moment <= $1.moment })
    #expect(snapshot.starts(from: 1).map(\.path) == ["/held", "/free", "/free"])
    #expect(snapshot.totals.peakInFlight == 3)
    #expect(snapshot.peakInFlight() == 3)
    #expect(snapshot.peakInFlight(from: 3) == 1)
    #expect(snapshot.peakInFlight { $0.request != 2 } == 2)
  }
}
