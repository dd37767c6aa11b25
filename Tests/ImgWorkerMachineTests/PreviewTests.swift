import ImgModel
import ImgWire
import ImgWorkerMachine
import Testing

/// Previews while a body arrives.
struct PreviewTests {
  private static let preview = Thumbnail(format: .jpeg, width: 10, height: 10, byteCount: 100)
  private static let interval = Duration.milliseconds(500)

  private var driver = TestDriver()

  private mutating func want(_ lease: LeaseID, _ updates: ArrivalUpdates = .previews) {
    driver.handle(.received(.updates(lease, updates)))
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

  /// There is a fetch whose viewer wants previews, and whose first one may be made.
  init() {
    driver.fetch([1])
    want(1)
    driver.advance(by: Self.interval)
  }

  @Test mutating func `a transfer is urgent while a client waits for one of its leases`() {
    var driver = TestDriver()
    driver.fetch([1])
    let urgent = TestDriver.batch([2], isUrgent: true)
    #expect(driver.handle(.received(.attach(urgent))) == ["urgent 1"])
    #expect(driver.handle(.received(.updates(1, []))).isEmpty, "it is")
    #expect(driver.handle(.received(.updates(2, nil))).isEmpty, "a client waits for the other")
    #expect(driver.cancel([1]) == ["not urgent 1"])
    #expect(driver.handle(.received(.updates(2, []))) == ["urgent 1"])
    driver.receiveBody(of: 1)
    #expect(driver.handle(.received(.updates(2, nil))).isEmpty, "nothing is to come")
  }

  @Test mutating func `no preview is made for a client that has left`() {
    driver.handle(.received(.updates(1, nil)))
    #expect(grow(1_000) == [])
  }

  @Test mutating func `a preview is made for a lease that wants some, and sent`() {
    #expect(grow(1_000) == ["make preview of 1 for 1"])
    #expect(end() == ["send preview 1"])
  }

  @Test mutating func `nothing is made unless it is wanted`() {
    driver = TestDriver()
    driver.fetch([1])
    driver.advance(by: .seconds(10))
    #expect(grow(1_000) == [])
    #expect(driver.watchedTransfers == [])
    #expect(driver.previewDeadline == nil)
  }

  @Test mutating func `a body has no preview in its first half second, and one each half second`() {
    driver = TestDriver()
    driver.fetch([1])
    want(1)
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

  @Test mutating func `a further preview needs an eighth more of the body`() {
    _ = grow(8_000)
    _ = end(.made(Self.preview, shownByteCount: 8_000))
    driver.advance(by: .seconds(10))
    #expect(grow(8_999) == [])
    #expect(grow(9_000) == ["make preview of 1 for 1"])
  }

  @Test mutating func `an attempt that showed nothing is repeated when any more has arrived`() {
    _ = grow(8_000)
    #expect(end(.later) == [])
    driver.advance(by: Self.interval)
    #expect(grow(8_000) == [])
    #expect(grow(8_001) == ["make preview of 1 for 1"])
  }

  @Test mutating func `an attempt without an idle decoder is repeated without more bytes`() {
    _ = grow(8_000)
    #expect(end(.busy) == [])
    #expect(driver.previewDeadline == driver.now.instant + Self.interval)
    driver.advance(by: Self.interval)
    #expect(grow(8_000) == ["make preview of 1 for 1"])
  }

  @Test mutating func `a picture that has no previews is not tried again`() {
    _ = grow(8_000)
    #expect(end(.never) == [])
    driver.advance(by: .seconds(10))
    #expect(grow(80_000) == [])
    #expect(driver.watchedTransfers == [])
  }

  @Test mutating func `a picture that shows only its rows goes on for those who want them`() {
    driver.attach([2], TestDriver.url, .sample(keep: .all))
    want(2, [.previews, .rows])
    #expect(grow(1_000) == ["make preview of 1 for 1"])
    #expect(!driver.previewOrder(1, of: 1).includesRows)
    #expect(end(.never) == [])
    for byteCount in [2_000, 4_000] {
      driver.advance(by: Self.interval)
      #expect(grow(byteCount) == ["make preview of 1 for 2"])
      #expect(driver.previewOrder(2, of: 1).includesRows)
      #expect(end(.made(Self.preview, shownByteCount: byteCount), lease: 2) == ["send preview 2"])
    }
    driver.advance(by: Self.interval)
    #expect(grow(8_000) == ["make preview of 1 for 2"])
    #expect(end(.never, lease: 2) == [])
    #expect(driver.watchedTransfers == [])
  }

  @Test mutating func `the next preview needs to show more of the body than the last one`() {
    _ = grow(1_000)
    _ = end(.made(Self.preview, shownByteCount: 900))
    driver.advance(by: Self.interval)
    _ = grow(9_000)
    #expect(driver.previewOrder(1, of: 1).shownByteCount == 900)
  }

  @Test mutating func `leases of several variants take turns`() {
    driver.attach([2], TestDriver.url, .sample(keep: .all))
    want(2)
    #expect(grow(1_000) == ["make preview of 1 for 1"])
    #expect(end() == ["send preview 1"])
    driver.advance(by: Self.interval)
    #expect(grow(2_000) == ["make preview of 1 for 2"])
    #expect(end(lease: 2) == ["send preview 2"])
    driver.advance(by: Self.interval)
    #expect(grow(4_000) == ["make preview of 1 for 1"])
  }

  @Test mutating func `one preview at a time is made, the one that is due first`() {
    driver.fetch([2], "http://example.com/b.jpg")
    want(2)
    #expect(grow(1_000) == ["make preview of 1 for 1"])
    driver.advance(by: Self.interval)
    #expect(grow(1_000, 2) == [])
    #expect(end() == ["send preview 1", "make preview of 2 for 2"])
  }

  @Test mutating func `a preview that is done after the body is dropped`() {
    _ = grow(1_000)
    driver.receiveBody(of: 1)
    #expect(end() == [])
    #expect(driver.watchedTransfers == [])
  }

  @Test mutating func `a preview of a cancelled lease is dropped`() {
    _ = grow(1_000)
    driver.cancel([1])
    #expect(end() == [])
  }

  @Test mutating func `a failed transfer has no further previews`() {
    _ = grow(1_000)
    driver.fail(1)
    #expect(end() == [])
    #expect(driver.watchedTransfers == [])
  }

  @Test(arguments: [ImageVariant.Frames.number(2), .time(.milliseconds(100)), .poster])
  mutating func `a request for another frame has no previews`(frames: ImageVariant.Frames) throws {
    driver = TestDriver()
    let variant = try Variant(ImageVariant(width: 64, height: 64, frames: frames))
    driver.fetch([1], TestDriver.url, ThumbnailRequest(variant: variant))
    want(1)
    #expect(driver.watchedTransfers == [])
  }

  @Test mutating func `a request for facts has no previews`() {
    driver = TestDriver()
    driver.fetch([1], TestDriver.url, .sample(keep: .facts))
    want(1)
    #expect(driver.watchedTransfers == [])
  }

  @Test
  mutating func
    `a lease that respects an opt-out has no previews of a transfer that does not ask`()
  {
    driver = TestDriver()
    driver.fetch([1])
    driver.attach([2], TestDriver.url, .sample(respectsOptOut: true))
    want(2)
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

  private mutating func want(_ lease: LeaseID) {
    driver.handle(.received(.updates(lease, .progress)))
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

  /// There is a fetch whose viewer wants progress.
  init() {
    driver.fetch([1])
    want(1)
  }

  @Test mutating func `what has arrived is reported for a lease that wants it`() {
    grow(1_000)
    #expect(endLaterTurn() == ["progress 1 1000 of 5000"])
    grow(2_000)
    #expect(endLaterTurn() == ["progress 1 2000 of 5000"])
  }

  @Test mutating func `nothing is reported before the first byte`() {
    #expect(driver.watchedTransfers == [1])
    #expect(driver.progressDeadline == nil)
    #expect(endLaterTurn() == [])
  }

  @Test mutating func `nothing is reported unless it is wanted`() {
    driver = TestDriver()
    driver.fetch([1])
    #expect(driver.watchedTransfers == [])
    grow(1_000)
    #expect(endLaterTurn() == [])
    #expect(driver.receiveBody(of: 1, Self.whole) == ["decode 1 from body 1"])
    #expect(driver.endTurn() == ["transferred [1]"])
  }

  @Test mutating func `news wait for a tenth of a second, and one message has the latest`() {
    grow(1_000)
    #expect(driver.progressDeadline == driver.now.instant + Self.interval)
    #expect(driver.endTurn() == [])
    driver.advance(by: .milliseconds(99))
    grow(2_000)
    #expect(driver.endTurn() == [])
    driver.advance(by: .milliseconds(1))
    #expect(driver.endTurn() == ["progress 1 2000 of 5000"])
    #expect(driver.progressDeadline == nil, "nothing is new")
    grow(3_000)
    #expect(driver.endTurn() == [])
    #expect(endLaterTurn() == ["progress 1 3000 of 5000"])
  }

  @Test mutating func `a body that has not grown is not reported again`() {
    grow(1_000)
    #expect(endLaterTurn() == ["progress 1 1000 of 5000"])
    grow(1_000)
    #expect(driver.progressDeadline == nil)
    #expect(endLaterTurn() == [])
  }

  @Test mutating func `one message has the progress of all leases`() {
    driver.attach([2], TestDriver.url, .sample(keep: .all))
    driver.fetch([3], "http://example.com/b.jpg")
    want(2)
    want(3)
    grow(1_000)
    grow(700, of: nil, 3)
    #expect(endLaterTurn() == ["progress 1 1000 of 5000, 2 1000 of 5000, 3 700"])
  }

  @Test mutating func `a whole body is reported at once, before its leases go on`() {
    #expect(driver.receiveBody(of: 1, Self.whole) == ["decode 1 from body 1"])
    #expect(driver.endTurn() == ["progress 1 5000 of 5000", "transferred [1]"])
    #expect(driver.watchedTransfers == [])
    #expect(endLaterTurn() == [])
  }

  @Test mutating func `a whole body that was reported is not reported again`() {
    grow(5_000)
    #expect(endLaterTurn() == ["progress 1 5000 of 5000"])
    driver.receiveBody(of: 1, Self.whole)
    #expect(driver.endTurn() == ["transferred [1]"])
  }

  @Test mutating func `a body without a declared length has no length, also when it is whole`() {
    grow(1_000, of: nil)
    #expect(endLaterTurn() == ["progress 1 1000"])
    driver.receiveBody(
      of: 1,
      BodyFacts(
        byteCount: 5_000, receivedByteCount: 5_200,
        reuse: AnswerReuse(terms: .none, isStorable: true)))
    #expect(driver.endTurn() == ["progress 1 5000", "transferred [1]"])
  }

  @Test mutating func `a lease that joins is told what has arrived so far`() {
    grow(1_000)
    #expect(endLaterTurn() == ["progress 1 1000 of 5000"])
    driver.attach([2], TestDriver.url, .sample(keep: .all))
    want(2)
    #expect(endLaterTurn() == ["progress 1 1000 of 5000, 2 1000 of 5000"])
  }

  @Test mutating func `a cancelled lease is told nothing more`() {
    grow(1_000)
    driver.cancel([1])
    #expect(endLaterTurn() == ["finished 1 cancelled"])
    #expect(driver.progressDeadline == nil)
    #expect(driver.watchedTransfers == [])
  }

  @Test mutating func `a failed transfer has no further progress`() {
    grow(1_000)
    driver.fail(1)
    #expect(endLaterTurn() == ["finished 1 truncated_body"])
    #expect(driver.watchedTransfers == [])
  }

  @Test mutating func `results that may wait do not hold up progress that is due`() {
    driver.fetch([2], "http://example.com/b.jpg")
    grow(1_000)
    driver.fail(2)
    #expect(driver.mayReportLater)
    driver.advance(by: Self.interval)
    grow(1_000)
    #expect(!driver.mayReportLater)
    #expect(driver.endTurn() == ["progress 1 1000 of 5000", "finished 2 truncated_body"])
  }

  @Test mutating func `a request for facts has no progress`() {
    driver = TestDriver()
    driver.fetch([1], TestDriver.url, .sample(keep: .facts))
    want(1)
    #expect(driver.watchedTransfers == [])
    driver.receiveBody(of: 1)
    #expect(driver.endTurn() == ["transferred [1]"])
  }

  @Test mutating func `an original of the store has no progress`() {
    driver = TestDriver()
    driver.decode([1])
    want(1)
    #expect(driver.watchedTransfers == [])
    #expect(endLaterTurn() == [])
  }
}
