import ImgModel
import ImgWire
import ImgWorkerMachine
import Testing

/// Previews while a body arrives.
struct PreviewTests {
  private static let preview = Thumbnail(format: .jpeg, width: 10, height: 10, byteCount: 100)
  private static let interval = Duration.milliseconds(500)

  private var driver = TestDriver()

  private mutating func want(_ leases: [LeaseID]) {
    driver.handle(.received(.preview(leases)))
  }

  private mutating func grow(_ byteCount: Int, _ transfer: TransferID = 1) -> [String] {
    driver.handle(.bodyGrew(transfer, to: ImageProgress(receivedByteCount: byteCount)))
  }

  /// - Returns: the effects of the end of the preview.
  private mutating func end(
    _ end: PreviewEnd = .made(preview, shownByteCount: 1_000), lease: LeaseID = 1,
    of transfer: TransferID = 1
  ) -> [String] {
    driver.handle(.previewed(driver.previewOrder(lease, of: transfer), end))
  }

  /// A fetch whose viewer wants previews, and whose first one may be made.
  private static func started() -> PreviewTests {
    var test = PreviewTests()
    test.driver.fetch([1])
    test.want([1])
    test.driver.advance(by: interval)
    return test
  }

  @Test func `a preview is made for a lease that wants some, and sent`() {
    var test = Self.started()
    #expect(test.grow(1_000) == ["make preview of 1 for 1"])
    #expect(test.end() == ["send preview 1"])
  }

  @Test mutating func `nothing is made unless it is wanted`() {
    driver.fetch([1])
    driver.advance(by: .seconds(10))
    #expect(grow(1_000) == [])
    #expect(driver.watchedTransfers == [])
    #expect(driver.previewDeadline == nil)
  }

  @Test mutating func `a body has no preview in its first half second, and one each half second`() {
    driver.fetch([1])
    want([1])
    #expect(driver.previewDeadline == nil, "nothing has arrived")
    #expect(grow(1_000) == [])
    #expect(driver.previewDeadline == driver.now.instant + Self.interval)
    driver.advance(by: .milliseconds(499))
    #expect(grow(1_000) == [])
    driver.advance(by: .milliseconds(1))
    #expect(grow(1_000) == ["make preview of 1 for 1"])
    #expect(driver.previewDeadline == nil, "one is being made")
    driver.advance(by: .milliseconds(100))
    #expect(end() == ["send preview 1"])
    #expect(grow(5_000) == [])
    driver.advance(by: .milliseconds(399))
    #expect(grow(5_000) == [])
    driver.advance(by: .milliseconds(1))
    #expect(grow(5_000) == ["make preview of 1 for 1"])
  }

  @Test func `a further preview needs an eighth more of the body`() {
    var test = Self.started()
    _ = test.grow(8_000)
    _ = test.end(.made(Self.preview, shownByteCount: 8_000))
    test.driver.advance(by: .seconds(10))
    #expect(test.grow(8_999) == [])
    #expect(test.grow(9_000) == ["make preview of 1 for 1"])
  }

  @Test func `an attempt that showed nothing is repeated when any more has arrived`() {
    var test = Self.started()
    _ = test.grow(8_000)
    #expect(test.end(.later) == [])
    test.driver.advance(by: Self.interval)
    #expect(test.grow(8_000) == [])
    #expect(test.grow(8_001) == ["make preview of 1 for 1"])
  }

  @Test func `an attempt without an idle decoder is repeated although no more has arrived`() {
    var test = Self.started()
    _ = test.grow(8_000)
    #expect(test.end(.busy) == [])
    #expect(test.driver.previewDeadline == test.driver.now.instant + Self.interval)
    test.driver.advance(by: Self.interval)
    #expect(test.grow(8_000) == ["make preview of 1 for 1"])
  }

  @Test func `a picture that has no previews is not tried again`() {
    var test = Self.started()
    _ = test.grow(8_000)
    #expect(test.end(.never) == [])
    test.driver.advance(by: .seconds(10))
    #expect(test.grow(80_000) == [])
    #expect(test.driver.watchedTransfers == [])
  }

  @Test func `the next preview needs to show more of the body than the last one`() {
    var test = Self.started()
    _ = test.grow(1_000)
    _ = test.end(.made(Self.preview, shownByteCount: 900))
    test.driver.advance(by: Self.interval)
    _ = test.grow(9_000)
    #expect(test.driver.previewOrder(1, of: 1).shownByteCount == 900)
  }

  @Test func `leases of several variants take turns`() {
    var test = Self.started()
    test.driver.attach([2], TestDriver.url, .sample(keep: .all))
    test.want([2])
    #expect(test.grow(1_000) == ["make preview of 1 for 1"])
    #expect(test.end() == ["send preview 1"])
    test.driver.advance(by: Self.interval)
    #expect(test.grow(2_000) == ["make preview of 1 for 2"])
    #expect(test.end(lease: 2) == ["send preview 2"])
    test.driver.advance(by: Self.interval)
    #expect(test.grow(4_000) == ["make preview of 1 for 1"])
  }

  @Test func `one preview at a time is made, the one that is due first`() {
    var test = Self.started()
    test.driver.fetch([2], "http://example.com/b.jpg")
    test.want([2])
    #expect(test.grow(1_000) == ["make preview of 1 for 1"])
    test.driver.advance(by: Self.interval)
    #expect(test.grow(1_000, 2) == [])
    #expect(test.end() == ["send preview 1", "make preview of 2 for 2"])
  }

  @Test func `a preview that is done after the body is dropped`() {
    var test = Self.started()
    _ = test.grow(1_000)
    test.driver.receiveBody(of: 1)
    #expect(test.end() == [])
    #expect(test.driver.watchedTransfers == [])
  }

  @Test func `a preview of a cancelled lease is dropped`() {
    var test = Self.started()
    _ = test.grow(1_000)
    test.driver.cancel([1])
    #expect(test.end() == [])
  }

  @Test func `a failed transfer has no further previews`() {
    var test = Self.started()
    _ = test.grow(1_000)
    test.driver.fail(1)
    #expect(test.end() == [])
    #expect(test.driver.watchedTransfers == [])
  }

  @Test(arguments: [ImageVariant.Frames.number(2), .time(.milliseconds(100)), .poster])
  mutating func `a request for another frame has no previews`(frames: ImageVariant.Frames) throws {
    let variant = try Variant(ImageVariant(width: 64, height: 64, frames: frames))
    driver.fetch([1], TestDriver.url, ThumbnailRequest(variant: variant))
    want([1])
    #expect(driver.watchedTransfers == [])
  }

  @Test mutating func `a request for facts has no previews`() {
    driver.fetch([1], TestDriver.url, .sample(keep: .facts))
    want([1])
    #expect(driver.watchedTransfers == [])
  }

  @Test
  mutating func
    `a lease that respects an opt-out has no previews of a transfer that does not ask`()
  {
    driver.fetch([1])
    driver.attach([2], TestDriver.url, .sample(respectsOptOut: true))
    want([2])
    #expect(driver.watchedTransfers == [])
  }
}

/// How much of a body has arrived.
struct ProgressTests {
  private static let interval = Duration.milliseconds(100)
  private static let whole = BodyFacts(
    byteCount: 5_000, declaredByteCount: 5_000, receivedByteCount: 5_200,
    reuse: AnswerReuse(terms: .none, isStorable: true))

  private var driver = TestDriver()

  private mutating func want(_ leases: [LeaseID]) {
    driver.handle(.received(.progress(leases)))
  }

  private mutating func grow(
    _ byteCount: Int, of length: Int? = 5_000, _ transfer: TransferID = 1
  ) {
    let progress = ImageProgress(receivedByteCount: byteCount, expectedByteCount: length)
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
