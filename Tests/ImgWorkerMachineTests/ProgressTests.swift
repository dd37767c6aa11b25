import ImgModel
import ImgWire
import ImgWorkerMachine
import Testing

/// How much of a body has arrived.
struct ProgressTests {
  private static let interval = Duration.milliseconds(100)
  private static let whole = BodyFacts(
    byteCount: 5_000, declaredByteCount: 5_000, receivedByteCount: 5_200,
    reuse: AnswerReuse(terms: .none, isStorable: true))

  private var driver = TestDriver()

  private mutating func want(_ leases: [LeaseID]) {
    driver.handle(.received(.progress(LeaseList(leases: leases))))
  }

  private mutating func grow(
    _ byteCount: Int, of length: Int? = 5_000, _ transfer: TransferID = 1
  ) {
    let progress = BodyProgress(receivedByteCount: byteCount, expectedByteCount: length)
    #expect(driver.handle(.bodyGrew(transfer, to: progress)) == [])
  }

  /// A turn that ends when news have waited long enough.
  private mutating func endLaterTurn() -> [String] {
    driver.advance(by: Self.interval)
    return driver.endTurn()
  }

  /// A fetch whose viewer wants progress.
  private static func started() -> ProgressTests {
    var test = ProgressTests()
    test.driver.fetch([1])
    test.want([1])
    return test
  }

  @Test func `what has arrived is reported for a lease that wants it`() {
    var test = Self.started()
    test.grow(1_000)
    #expect(test.endLaterTurn() == ["progress 1 1000 of 5000"])
    test.grow(2_000)
    #expect(test.endLaterTurn() == ["progress 1 2000 of 5000"])
  }

  @Test func `nothing is reported before the first byte`() {
    var test = Self.started()
    #expect(test.driver.watchedTransfers == [1])
    #expect(test.driver.progressDeadline == nil)
    #expect(test.endLaterTurn() == [])
  }

  @Test mutating func `nothing is reported unless it is wanted`() {
    driver.fetch([1])
    #expect(driver.watchedTransfers == [])
    grow(1_000)
    #expect(endLaterTurn() == [])
    #expect(driver.receiveBody(of: 1, Self.whole) == ["decode 1 from body 1"])
    #expect(driver.endTurn() == ["transferred [1]"])
  }

  @Test func `news wait for a tenth of a second, and one message has the latest`() {
    var test = Self.started()
    test.grow(1_000)
    #expect(test.driver.progressDeadline == test.driver.now.instant + Self.interval)
    #expect(test.driver.endTurn() == [])
    test.driver.advance(by: .milliseconds(99))
    test.grow(2_000)
    #expect(test.driver.endTurn() == [])
    test.driver.advance(by: .milliseconds(1))
    #expect(test.driver.endTurn() == ["progress 1 2000 of 5000"])
    #expect(test.driver.progressDeadline == nil, "nothing is new")
    test.grow(3_000)
    #expect(test.driver.endTurn() == [])
    #expect(test.endLaterTurn() == ["progress 1 3000 of 5000"])
  }

  @Test func `a body that has not grown is not reported again`() {
    var test = Self.started()
    test.grow(1_000)
    #expect(test.endLaterTurn() == ["progress 1 1000 of 5000"])
    test.grow(1_000)
    #expect(test.driver.progressDeadline == nil)
    #expect(test.endLaterTurn() == [])
  }

  @Test func `one message has the progress of all leases`() {
    var test = Self.started()
    test.driver.attach([2], TestDriver.url, .sample(keep: .all))
    test.driver.fetch([3], "http://example.com/b.jpg")
    test.want([2, 3])
    test.grow(1_000)
    test.grow(700, of: nil, 3)
    #expect(test.endLaterTurn() == ["progress 1 1000 of 5000, 2 1000 of 5000, 3 700"])
  }

  @Test func `a whole body is reported at once, before its leases go on`() {
    var test = Self.started()
    #expect(test.driver.receiveBody(of: 1, Self.whole) == ["decode 1 from body 1"])
    #expect(test.driver.endTurn() == ["progress 1 5000 of 5000", "transferred [1]"])
    #expect(test.driver.watchedTransfers == [])
    #expect(test.endLaterTurn() == [])
  }

  @Test func `a whole body that was reported is not reported again`() {
    var test = Self.started()
    test.grow(5_000)
    #expect(test.endLaterTurn() == ["progress 1 5000 of 5000"])
    test.driver.receiveBody(of: 1, Self.whole)
    #expect(test.driver.endTurn() == ["transferred [1]"])
  }

  @Test func `a body without a declared length has no length, also when it is whole`() {
    var test = Self.started()
    test.grow(1_000, of: nil)
    #expect(test.endLaterTurn() == ["progress 1 1000"])
    test.driver.receiveBody(
      of: 1,
      BodyFacts(
        byteCount: 5_000, receivedByteCount: 5_200,
        reuse: AnswerReuse(terms: .none, isStorable: true)))
    #expect(test.driver.endTurn() == ["progress 1 5000", "transferred [1]"])
  }

  @Test func `a lease that joins is told what has arrived so far`() {
    var test = Self.started()
    test.grow(1_000)
    #expect(test.endLaterTurn() == ["progress 1 1000 of 5000"])
    test.driver.attach([2], TestDriver.url, .sample(keep: .all))
    test.want([2])
    #expect(test.endLaterTurn() == ["progress 1 1000 of 5000, 2 1000 of 5000"])
  }

  @Test func `a cancelled lease is told nothing more`() {
    var test = Self.started()
    test.grow(1_000)
    test.driver.cancel([1])
    #expect(test.endLaterTurn() == ["finished 1 cancelled"])
    #expect(test.driver.progressDeadline == nil)
    #expect(test.driver.watchedTransfers == [])
  }

  @Test func `a failed transfer has no further progress`() {
    var test = Self.started()
    test.grow(1_000)
    test.driver.fail(1)
    #expect(test.endLaterTurn() == ["finished 1 truncated_body"])
    #expect(test.driver.watchedTransfers == [])
  }

  @Test func `results that may wait do not hold up progress that is due`() {
    var test = Self.started()
    test.driver.fetch([2], "http://example.com/b.jpg")
    test.grow(1_000)
    test.driver.fail(2)
    #expect(test.driver.mayReportLater)
    test.driver.advance(by: Self.interval)
    test.grow(1_000)
    #expect(!test.driver.mayReportLater)
    #expect(
      test.driver.endTurn() == ["progress 1 1000 of 5000", "finished 2 truncated_body"])
  }

  @Test mutating func `a request for facts has no progress`() {
    driver.fetch([1], TestDriver.url, .sample(keep: .facts))
    want([1])
    #expect(driver.watchedTransfers == [])
    driver.receiveBody(of: 1)
    #expect(driver.endTurn() == ["transferred [1]"])
  }

  @Test mutating func `an original of the store has no progress`() {
    driver.decode([1])
    want([1])
    #expect(driver.watchedTransfers == [])
    #expect(endLaterTurn() == [])
  }
}
