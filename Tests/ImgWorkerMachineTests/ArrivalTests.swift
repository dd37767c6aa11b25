import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// Transfers that time out while something comes from other hosts, or nothing does.
@Suite struct ArrivalTests {
  private var driver = TestDriver()

  private static let timeout = Failure(stage: .fetch, code: .timeout, detail: "nothing came")

  /// - Returns: what the failure of a transfer says of the network.
  private mutating func sign(
    of id: UInt64, after failure: Failure = timeout, _ sign: NetworkSign? = nil,
    byteCount: Int = 0
  ) -> NetworkSign? {
    let end = TransferEnd(.failed(failure), freshByteCount: byteCount, sign: sign)
    driver.handle(.transferEnded(TransferID(rawValue: id), end))
    _ = driver.endTurn()
    return driver.results[LeaseID(rawValue: id)]?.sign
  }

  private mutating func begin() {
    for id in 1...4 {
      driver.fetch([LeaseID(rawValue: UInt64(id))], "http://h\(id).test/a.jpg")
    }
  }

  private mutating func measure(_ id: UInt64, byteCount: Int, _ phase: TransferPhase) {
    let measure = TransferMeasure(receivedByteCount: byteCount, isHeldUp: false, phase: phase)
    driver.handle(.measured([TransferID(rawValue: id): measure]))
  }

  @Test mutating func `a transfer that times out while nothing comes from any host says so`() {
    begin()
    driver.advance(by: .seconds(3))
    #expect(sign(of: 1) == .noData)
    #expect(sign(of: 2, after: .broken) == nil, "it has not timed out")
  }

  @Test mutating func `not while bytes of another one come`() {
    begin()
    driver.advance(by: .seconds(3))
    measure(2, byteCount: 10, .receiving)
    driver.advance(by: .seconds(9))
    #expect(sign(of: 1) == nil)
    measure(2, byteCount: 10, .receiving)
    driver.advance(by: .seconds(1))
    #expect(sign(of: 3) == .noData, "none has come for a while")
    #expect(sign(of: 2, byteCount: 10) == .noData)
  }

  @Test mutating func `not after the body of another one`() {
    begin()
    driver.advance(by: .seconds(1))
    driver.receiveBody(of: 2)
    #expect(sign(of: 1) == nil)
    #expect(sign(of: 3, byteCount: 10) == nil)
  }

  @Test
  mutating func `a connection that stays silent says so although another host can be connected to`()
  {
    begin()
    measure(1, byteCount: 0, .awaitingAnswer)
    measure(2, byteCount: 0, .connecting)
    driver.advance(by: .seconds(3))
    #expect(sign(of: 1, .answered) == .noData)
    #expect(sign(of: 2, .answered) == .answered)
    #expect(sign(of: 3, .answered) == .answered)
    #expect(sign(of: 4, .silent) == .silent)
  }
}
