import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// From a decoded picture to the store, and from there to the result.
struct StoringTests {
  private var driver = TestDriver()

  private mutating func fetchAndDecode(
    _ lease: LeaseID, _ request: ThumbnailRequest = .sample, facts: BodyFacts = .sample
  ) -> [String] {
    driver.fetch([lease], TestDriver.url, request)
    driver.receiveBody(of: TransferID(startedBy: lease), facts)
    _ = driver.endTurn()
    return driver.decode(lease)
  }

  // MARK: - What is stored

  @Test mutating func `a thumbnail is stored without its body, and done once the store has it`() {
    #expect(fetchAndDecode(1) == ["release body 1", "put 1 [thumbnail]"])
    driver.advance(by: .milliseconds(12))
    #expect(driver.handle(.stored(1, .stored)).isEmpty)
    #expect(driver.endTurn() == ["finished 1 done"])
    #expect(driver.results[1]?.timings?.decode == .milliseconds(7))
    #expect(driver.results[1]?.timings?.store == .milliseconds(12))
  }

  @Test mutating func `a result for a list may wait for the result of another lease`() {
    driver.fetch([2], "http://example.com/b.jpg")
    _ = fetchAndDecode(1)
    driver.handle(.stored(1, .stored))
    #expect(driver.hasReport && driver.mayReportLater)
    driver.receiveBody(of: 2)
    #expect(!driver.mayReportLater)
    #expect(driver.endTurn() == ["transferred [2]", "finished 1 done"])
  }

  @Test mutating func `the last result does not wait`() {
    _ = fetchAndDecode(1)
    driver.handle(.stored(1, .stored))
    #expect(driver.hasReport && !driver.mayReportLater)
  }

  @Test mutating func `a result for a client does not wait`() {
    driver.fetch([2], "http://example.com/b.jpg")
    driver.handle(.received(.fetch(TestDriver.batch([1], isUrgent: true))))
    driver.receiveBody(of: 1)
    _ = driver.endTurn()
    driver.decode(1)
    driver.handle(.stored(1, .stored))
    #expect(driver.hasReport && !driver.mayReportLater)
  }

  @Test(arguments: [
    (Keep.all, "put 1 [thumbnail, original] of body 1"), (.original, "put 1 [original] of body 1"),
  ])
  mutating func `a body that is stored is released afterwards`(keep: Keep, put: String) {
    #expect(fetchAndDecode(1, .sample(keep: keep)) == [put])
    #expect(driver.handle(.stored(1, .stored)) == ["release body 1"])
    #expect(driver.endTurn() == ["finished 1 done"])
  }

  @Test mutating func `a body is stored once, and kept as long as each lease asks`() {
    driver.fetch([1], TestDriver.url, .sample(keep: .all))
    driver.attach([2], TestDriver.url, .sample(keep: .all))
    driver.attach([3], TestDriver.url, .sample(keep: .original))
    driver.receiveBody(of: 1)
    driver.decode(1)
    driver.handle(.stored(1, .stored))
    #expect(driver.decode(2) == ["put 2 [thumbnail] beside the original"])
    #expect(driver.decode(3) == ["release body 1", "put 3 [] beside the original"])
    driver.handle(.stored(2, .missing))
    driver.handle(.stored(3, .stored))
    #expect(
      driver.endTurn() == ["transferred [1, 2, 3]", "released [2]", "finished 1 done, 3 done"])
  }

  @Test mutating func `what cannot be pinned has no result, stored or renewed`() {
    #expect(fetchAndDecode(1, .sample(keep: .all)) == ["put 1 [thumbnail, original] of body 1"])
    #expect(driver.handle(.unpinned([1])) == ["release body 1"])
    #expect(driver.endTurn() == ["unpinned [1]"])
    // A look-up.
    driver.handle(.unpinned([7, 8]))
    #expect(driver.hasReport && !driver.mayReportLater)
    #expect(driver.endTurn() == ["unpinned [7, 8]"])
  }

  @Test mutating func `each lease stores the body until the store has it`() {
    driver.fetch([1], TestDriver.url, .sample(keep: .all))
    driver.attach([2], TestDriver.url, .sample(keep: .all))
    driver.receiveBody(of: 1)
    #expect(driver.decode(1) == ["put 1 [thumbnail, original] of body 1"])
    #expect(driver.decode(2) == ["put 2 [thumbnail, original] of body 1"])
    #expect(driver.handle(.stored(1, .stored)).isEmpty)
    #expect(driver.handle(.stored(2, .stored)) == ["release body 1"])
  }

  @Test mutating func `an upload is stored with its original`() {
    let upload = Upload(
      lease: 1, url: TestDriver.url, request: .sample(keep: .original), retention: Retention(),
      byteCount: 9)
    driver.handle(.received(.decodeUpload(upload)))
    #expect(driver.decode(1) == ["put 1 [original]"])
    #expect(driver.storeRequests[1]?.records.first?.replacesOther == true)
    #expect(driver.storeRequests[1]?.records.first?.picture.byteCount == 9)
  }

  @Test mutating func `all records of a damaged picture have its mark`() {
    driver.fetch(
      [1], TestDriver.url, ThumbnailRequest(variant: .standard, isLenient: true, keep: .all))
    driver.receiveBody(of: 1)
    driver.decode(1, .damaged)
    let marks = driver.storeRequests[1]?.records.map(\.picture.isDamaged)
    #expect(marks == [true, true])
  }

  @Test mutating func `an upload is as lenient as its request`() {
    let request = ThumbnailRequest(variant: .standard, isLenient: true)
    let upload = Upload(
      lease: 1, url: TestDriver.url, request: request, retention: Retention(), byteCount: 9)
    driver.handle(.received(.decodeUpload(upload)))
    #expect(driver.orders[1]?.request.isLenient == true)
  }

  // MARK: - What is not stored

  @Test(arguments: [
    ThumbnailRequest.sample(keep: .none), .sample(bypassesStore: true),
  ])
  mutating func `a result that is not to be stored is delivered`(request: ThumbnailRequest) {
    #expect(fetchAndDecode(1, request) == ["release body 1", "deliver 1"])
    #expect(driver.uncached[1]?.made.failure == nil)
    #expect(driver.uncached[1]?.isStoreDegraded == false)
    #expect(driver.uncached[1]?.bytesFetched == 30)
    #expect(driver.uncached[1]?.made.source.byteCount == 40)
    driver.handle(.uncachedSent(1))
    #expect(driver.endTurn().isEmpty)
  }

  @Test(arguments: [
    (CachePolicy.byProtocol, Keep.thumbnail, "deliver 1"), (.byProtocol, .auto, "deliver 1"),
    (.byProtocol, .original, "put 1 [original] of body 1"),
    (.byProtocol, .all, "put 1 [thumbnail, original] of body 1"),
    (.reload, .thumbnail, "put 1 [thumbnail]"),
  ])
  mutating func
    `what the origin forbids storing is delivered if the request follows HTTP and asks for no original`(
      policy: CachePolicy, keep: Keep, effect: String
    )
  {
    let request = ThumbnailRequest.sample(keep: keep, policy: policy)
    #expect(fetchAndDecode(1, request, facts: .notToStore).last == effect)
  }

  @Test mutating func `a thumbnail that the store refuses is delivered`() {
    _ = fetchAndDecode(1, .sample(keep: .all))
    let refusal = StoreRefusal(failure: .storeFull, isStoreDegraded: true)
    #expect(driver.handle(.stored(1, .refused(refusal))) == ["release body 1", "deliver 1"])
    #expect(driver.uncached[1]?.made.failure == .storeFull)
    #expect(driver.uncached[1]?.isStoreDegraded == true)
  }

  @Test mutating func `a picture that was not decoded has no thumbnail to deliver`() {
    let request = ThumbnailRequest.sample(keep: .undecodedOriginal)
    driver.fetch([1], TestDriver.url, request)
    driver.attach([2], TestDriver.url, request)
    driver.receiveBody(of: 1)
    #expect(driver.decode(1, .undecoded) == ["put 1 [original] of body 1"])
    #expect(driver.storeRequests[1]?.records.first?.source.decodePath == .undecoded)
    let refusal = StoreRefusal(failure: .storeFull, isStoreDegraded: true)
    #expect(driver.handle(.stored(1, .refused(refusal))).isEmpty)
    #expect(driver.decode(2, .undecoded) == ["put 2 [original] of body 1"])
    #expect(driver.handle(.stored(2, .stored)) == ["release body 1"])
    driver.fetch(
      [3], TestDriver.url, .sample(keep: .undecodedOriginal, bypassesStore: true))
    driver.receiveBody(of: 3)
    #expect(driver.decode(3, .undecoded) == ["release body 3"])
    #expect(
      driver.endTurn()
        == ["transferred [1, 2, 3]", "finished 1 store_full, 2 done, 3 done"])
    #expect(driver.results[1]?.isStoreDegraded == true)
  }

  @Test mutating func `a body that cannot be read fails its lease`() {
    _ = fetchAndDecode(1, .sample(keep: .all))
    let failure = Failure(stage: .store, code: .internal, detail: "no body")
    #expect(driver.handle(.stored(1, .failed(failure))) == ["release body 1"])
    #expect(driver.endTurn() == ["finished 1 internal"])
  }

  @Test(arguments: [true, false])
  mutating func `a result that cannot be sent fails, with the store's reason if it has one`(
    isRefused: Bool
  ) {
    _ = fetchAndDecode(1, .sample(bypassesStore: !isRefused))
    if isRefused {
      driver.handle(.stored(1, .refused(StoreRefusal(failure: .storeFull, isStoreDegraded: false))))
    }
    driver.handle(.uncachedFailed(1, detail: "EMFILE"))
    #expect(driver.hasReport)
    #expect(driver.endTurn() == ["finished 1 \(isRefused ? "store_full" : "out_of_memory")"])
  }

  // MARK: - Decodes without a picture

  @Test mutating func `a decode that fails releases the body and fails its lease`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    let failure = Failure(stage: .decode, code: .corruptImage, detail: "")
    #expect(
      driver.handle(.decoded(1, .failed(failure), time: .milliseconds(2)))
        == ["release body 1"])
    #expect(driver.endTurn() == ["transferred [1]", "finished 1 corrupt_image"])
    #expect(driver.results[1]?.timings?.decode == .milliseconds(2))
  }

  @Test mutating func `a lease whose original is gone is released`() {
    driver.attach([1])
    driver.handle(.originalFound(1, true))
    driver.handle(.decoded(1, .sourceMissing, time: nil))
    #expect(driver.endTurn() == ["released [1]"])
  }

  // MARK: - Drain

  @Test mutating func `a worker that drains stops when its last lease is reported`() {
    driver.fetch([1])
    #expect(driver.handle(.received(.drain)).isEmpty)
    driver.cancel([1])
    #expect(driver.endTurn() == ["finished 1 cancelled", "stop"])
  }

  @Test mutating func `a worker without leases stops at once`() {
    #expect(driver.handle(.received(.drain)) == ["stop"])
  }

  @Test mutating func `a worker that drains sends its uncached results first`() {
    _ = fetchAndDecode(1, .sample(bypassesStore: true))
    driver.handle(.received(.drain))
    #expect(driver.endTurn().isEmpty)
    #expect(driver.handle(.uncachedSent(1)) == ["stop"])
  }
}
