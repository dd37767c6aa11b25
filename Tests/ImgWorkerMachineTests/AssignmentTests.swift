import ImgModel
import ImgWire
import Testing

@testable import ImgWorkerMachine

/// From an assignment to a transfer, or to the decoder.
struct AssignmentTests {
  private var driver = TestDriver()

  @Test mutating func `a look-up is answered with what the store found`() {
    #expect(driver.handle(.received(.lookup(TestDriver.batch([1, 2])))) == ["look up [1, 2]"])
    let results = LookupResults(hits: [], originals: [1], misses: [2])
    #expect(driver.handle(.lookedUp(results)) == ["looked up"])
  }

  @Test mutating func `each fetch starts a transfer of its own`() {
    #expect(driver.fetch([1, 2]) == ["start 1", "start 2"])
  }

  @Test mutating func `a line that names no URL fails without a transfer`() {
    #expect(driver.fetch([1], "mailto:a").isEmpty)
    #expect(driver.attach([2], "mailto:a").isEmpty)
    #expect(driver.endTurn() == ["finished 1 unsupported_scheme, 2 unsupported_scheme"])
  }

  // MARK: - Attaching

  @Test mutating func `a lease attaches to a transfer whose body is on its way`() {
    driver.fetch([1])
    #expect(driver.attach([2]).isEmpty)
    #expect(driver.receiveBody(of: 1) == ["decode 1 from body 1", "decode 2 from body 1"])
    #expect(driver.endTurn() == ["transferred [1, 2]"])
  }

  @Test mutating func `a lease attaches to a body that is held`() {
    driver.fetch([1])
    driver.receiveBody(of: 1)
    #expect(driver.attach([2]) == ["decode 2 from body 1"])
  }

  @Test mutating func `without a transfer the original in the store is decoded`() {
    #expect(driver.attach([1]) == ["find original 1"])
    #expect(driver.handle(.originalFound(1, true)) == ["decode 1 from original"])
  }

  @Test mutating func `without a transfer and an original the lease is released`() {
    driver.attach([1])
    #expect(driver.handle(.originalFound(1, false)).isEmpty)
    #expect(driver.endTurn() == ["released [1]"])
  }

  // MARK: - Decodes

  @Test(arguments: ["data:,a", "file:///a.jpg"])
  mutating func `a URL that needs no origin is decoded at once`(url: String) {
    #expect(driver.decode([1], url) == ["decode 1 from url"])
  }

  @Test mutating func `a decode needs the original in the store, also beside a transfer`() {
    driver.fetch([1])
    #expect(driver.decode([2, 3]) == ["find original 2", "find original 3"])
    #expect(driver.handle(.originalFound(2, true)) == ["decode 2 from original"])
    #expect(driver.handle(.originalFound(3, false)).isEmpty)
    #expect(driver.endTurn() == ["released [3]"])
  }

  // MARK: - Uploads

  @Test mutating func `an upload is decoded at once`() {
    let upload = Upload(
      lease: 1, url: nil, request: .sample, retention: Retention(), byteCount: 9)
    #expect(driver.handle(.received(.decodeUpload(upload))) == ["decode 1 from upload of 9"])
    #expect(driver.orders[1]?.isUrgent == true)
    #expect(driver.orders[1]?.request.bypassesStore == true)
  }

  @Test mutating func `an upload for no URL fails`() {
    let upload = Upload(
      lease: 1, url: "a b", request: .sample, retention: Retention(), byteCount: 9)
    #expect(driver.handle(.received(.decodeUpload(upload))).isEmpty)
    #expect(driver.endTurn() == ["finished 1 invalid_url"])
  }

  // MARK: - Other messages

  @Test mutating func `a sweep is passed on`() {
    let moment = WallTime(rawValue: 5)
    #expect(driver.handle(.received(.sweep(Sweep(at: moment)))) == ["sweep 5"])
  }
}
