import ImgFetch
import ImgModel
import Testing

@testable import ImgWorker

/// Which lease is on which transfer, and what becomes of transfers and bodies.
@Suite struct SharedTransfersTests {
  private static let name = PictureName(text: "http://example.com/a.jpg")
  private static let body = SharedTransfer.Body(
    content: .memory([1, 2, 3]), charge: BodyCharge(byteCount: 4_096), receivedByteCount: 30,
    freshByteCount: 30, reuse: AnswerReuse(terms: .none, isStorable: true))

  private var transfers = SharedTransfers()

  // MARK: - Who is decoded

  @Test mutating func `every lease of a transfer gets a share of its one body`() throws {
    transfers.begin(1, name: Self.name)
    #expect(transfers.attach(2, name: Self.name).isReceiving)
    #expect(transfers.attach(3, name: Self.name).isReceiving)
    let shares = transfers.receive(Self.body, by: 1)
    #expect(shares.map(\.lease) == [1, 2, 3])
    #expect(try shares.map { try $0.body.content.bytes() } == [[1, 2, 3], [1, 2, 3], [1, 2, 3]])
  }

  @Test mutating func `a lease that joins a body that is held gets its share at once`() throws {
    transfers.begin(1, name: Self.name)
    _ = transfers.receive(Self.body, by: 1)
    let share = transfers.attach(2, name: Self.name).share
    #expect(share?.lease == 2)
    #expect(try share?.body.content.bytes() == [1, 2, 3])
  }

  @Test mutating func `a ride without a transfer of its URL finds it gone`() {
    transfers.begin(1, name: Self.name)
    #expect(transfers.attach(2, name: PictureName(text: Self.name.text + "?other")).isGone)
  }

  @Test mutating func `a ride finds the body gone once the last decode is over`() {
    transfers.begin(1, name: Self.name)
    _ = transfers.receive(Self.body, by: 1)
    _ = transfers.release(1)
    #expect(transfers.attach(2, name: Self.name).isGone)
  }

  @Test mutating func `a ride joins the newest transfer of its URL`() {
    transfers.begin(1, name: Self.name)
    transfers.begin(2, name: Self.name)
    #expect(transfers.attach(3, name: Self.name).isReceiving)
    #expect(transfers.receive(Self.body, by: 1).map(\.lease) == [1])
    #expect(transfers.receive(Self.body, by: 2).map(\.lease) == [2, 3])
  }

  @Test mutating func `a ride joins an older transfer when the newest is over`() {
    transfers.begin(1, name: Self.name)
    transfers.begin(2, name: Self.name)
    #expect(transfers.end(2) == [2])
    #expect(transfers.attach(3, name: Self.name).isReceiving)
    #expect(transfers.receive(Self.body, by: 1).map(\.lease) == [1, 3])
  }

  // MARK: - Who reports the bytes

  @Test mutating func `the lease that began the transfer reports its bytes, the others none`() {
    transfers.begin(1, name: Self.name)
    _ = transfers.attach(2, name: Self.name)
    #expect(transfers.receive(Self.body, by: 1).map(\.bytesFetched) == [30, 0])
    #expect(transfers.attach(3, name: Self.name).share?.bytesFetched == 0)
  }

  @Test mutating func `the first of those who stay reports the bytes when the beginner has left`() {
    transfers.begin(1, name: Self.name)
    _ = transfers.attach(2, name: Self.name)
    _ = transfers.attach(3, name: Self.name)
    _ = transfers.leave(1)
    let shares = transfers.receive(Self.body, by: 1)
    #expect(shares.map(\.lease) == [2, 3])
    #expect(shares.map(\.bytesFetched) == [30, 0])
  }

  // MARK: - When the body is given back

  @Test mutating func `a body is given back once, after the last decode`() {
    transfers.begin(1, name: Self.name)
    _ = transfers.attach(2, name: Self.name)
    _ = transfers.receive(Self.body, by: 1)
    #expect(transfers.release(1) == nil)
    _ = transfers.attach(3, name: Self.name)
    #expect(transfers.release(2) == nil)
    #expect(transfers.release(3) == Self.body.charge)
    #expect(transfers.release(3) == nil)
  }

  @Test mutating func `each of two transfers of a URL gives its own body back`() {
    transfers.begin(1, name: Self.name)
    transfers.begin(2, name: Self.name)
    _ = transfers.receive(Self.body, by: 1)
    _ = transfers.receive(Self.body, by: 2)
    #expect(transfers.release(1) == Self.body.charge)
    #expect(transfers.attach(3, name: Self.name).share != nil)
    #expect(transfers.release(2) == nil)
    #expect(transfers.release(3) == Self.body.charge)
  }

  // MARK: - Failures

  @Test mutating func `a transfer's failure ends every lease of it, and nobody joins it`() {
    transfers.begin(1, name: Self.name)
    _ = transfers.attach(2, name: Self.name)
    #expect(transfers.end(1) == [1, 2])
    #expect(transfers.attach(3, name: Self.name).isGone)
    #expect(transfers.release(2) == nil)
  }

  @Test mutating func `a lease that has left does not fail with the transfer`() {
    transfers.begin(1, name: Self.name)
    _ = transfers.attach(2, name: Self.name)
    _ = transfers.leave(1)
    #expect(transfers.end(1) == [2])
  }

  // MARK: - Leaving

  @Test mutating func `a transfer is aborted when its last lease leaves, whichever it is`() {
    transfers.begin(1, name: Self.name)
    _ = transfers.attach(2, name: Self.name)
    #expect(transfers.leave(1) == .left)
    #expect(transfers.leave(2) == .leftLast(1))
    #expect(transfers.attach(3, name: Self.name).isGone)
  }

  @Test mutating func `a lease stays when the body is in, and holds it until its decode is over`() {
    transfers.begin(1, name: Self.name)
    _ = transfers.receive(Self.body, by: 1)
    #expect(transfers.leave(1) == .tooLate)
    #expect(transfers.attach(2, name: Self.name).share != nil)
    #expect(transfers.release(1) == nil)
    #expect(transfers.leave(1) == .tooLate, "its thumbnail is on its way to the store")
    #expect(transfers.release(2) == Self.body.charge)
  }
}

extension SharedTransfers.Ride {
  fileprivate var isReceiving: Bool {
    if case .receiving = self { true } else { false }
  }

  fileprivate var isGone: Bool {
    if case .gone = self { true } else { false }
  }

  fileprivate var share: SharedTransfer.Share? {
    if case .holding(let share) = self { share } else { nil }
  }
}
