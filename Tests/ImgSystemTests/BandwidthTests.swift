import Testing

@testable import ImgSystem

private let second: UInt64 = 1_000_000_000
private let piece = 16 << 10

@Suite struct ByteBucketTests {
  /// What passes in a number of seconds, looked at each millisecond, whenever the bucket is open.
  private func passed(_ bucket: inout ByteBucket, rate: UInt64, from begin: UInt64, seconds: UInt64)
    -> Int
  {
    var byteCount = 0
    for millisecond in 0..<1_000 * seconds {
      let now = begin + millisecond * second / 1_000
      while bucket.isOpen(at: now) {
        bucket.take(piece, rate: rate, at: now)
        byteCount += piece
      }
    }
    return byteCount
  }

  @Test(arguments: [1_024, 100_000, 1 << 20, 50 << 20] as [UInt64])
  func `what passes is the rate, a quarter of a second's worth and one piece at most`(rate: UInt64)
  {
    var bucket = ByteBucket()
    let byteCount = passed(&bucket, rate: rate, from: 1_000 * second, seconds: 40)
    #expect(byteCount >= Int(rate) * 40 - piece)
    #expect(byteCount <= Int(rate) * 40 + Int(rate) / 4 + piece)
  }

  @Test func `nothing gathers beyond a quarter of a second, however long nothing passes`() {
    var bucket = ByteBucket()
    bucket.take(piece, rate: 1 << 20, at: second)
    #expect(!bucket.isFull(at: second))
    #expect(bucket.isFull(at: 1_000 * second))
    let byteCount = passed(&bucket, rate: 1 << 20, from: 1_000 * second, seconds: 1)
    #expect(byteCount <= (1 << 20) * 5 / 4 + piece)
  }

  @Test func `a piece passes an open bucket and closes it until the rate has made up for it`() {
    var bucket = ByteBucket(opensAt: 10 * second)
    #expect(bucket.isOpen(at: 10 * second))
    bucket.take(3_000, rate: 1_000, at: 10 * second)
    #expect(!bucket.isOpen(at: 13 * second - 1))
    #expect(bucket.isOpen(at: 13 * second))
  }

  @Test func `at another rate what has passed is made up for sooner or later`() {
    var bucket = ByteBucket(opensAt: 18 * second)
    bucket.change(from: 1_000, to: 8_000, at: 10 * second)
    #expect(bucket.opensAt == 11 * second)
    bucket.change(from: 8_000, to: 4_000, at: 10 * second)
    #expect(bucket.opensAt == 12 * second)
    bucket.change(from: 1, to: 2, at: 30 * second)
    #expect(bucket.opensAt == 12 * second)
  }

  @Test func `a damaged bucket is open`() {
    var bucket = ByteBucket(opensAt: .max)
    #expect(bucket.isOpen(at: second) && bucket.isFull(at: second))
    bucket.take(1_000, rate: 1_000, at: 100 * second)
    #expect(bucket.opensAt == 100 * second + second * 3 / 4)
    bucket.take(.max / 1_000_000_000, rate: 1, at: 100 * second)
    #expect(bucket.opensAt == 100 * second + ByteBucket.longestTime)
  }
}

@Suite struct SharedBandwidthTests {
  private typealias Host = SharedBandwidth.Host
  private let shared: SharedBandwidth
  /// The same memory, as another process maps it.
  private let other: SharedBandwidth
  private let now = 100 * second

  init() throws {
    shared = try SharedBandwidth()
    other = try SharedBandwidth(
      adopting: Self.duplicate(shared.descriptors.state),
      rates: Self.duplicate(shared.descriptors.rates))
  }

  private static func duplicate(_ descriptor: CInt) throws -> OwnedDescriptor {
    let owned = OwnedDescriptor(adopting: descriptor)
    let result = Result { try owned.duplicate() }
    _ = owned.release()
    return try result.get()
  }

  @Test func `no other process can change the limits`() throws {
    #expect(throws: SystemError.self) {
      _ = try SharedWords(adopting: Self.duplicate(shared.descriptors.rates), count: 2)
    }
  }

  @Test func `reserved bytes are for what a client waits for, until the moment passes`() {
    shared.setRates(.init(whole: 1_000), at: now)
    other.take(1_250, of: Host("a"), at: now)
    other.reserve(for: Host("a"), until: now + 2 * second / 2, at: now)
    #expect(shared.opening(for: Host("b"), at: now) == now + second)
    let open = now + second - 1
    other.reserve(for: Host("a"), until: now + second * 3 / 2, at: open)
    let later = now + second
    #expect(shared.opening(for: Host("a"), at: later) == later)
    #expect(shared.opening(for: Host("b"), isUrgent: false, at: later) == now + second * 3 / 2)
    let end = now + second * 3 / 2
    #expect(shared.opening(for: Host("b"), isUrgent: false, at: end) == end)
    // No longer than a second.
    other.reserve(for: Host("a"), until: end + 9 * second, at: end)
    #expect(shared.opening(for: Host("b"), isUrgent: false, at: end) == end)
  }

  @Test func `a host whose own limit holds it reserves nothing of the others`() {
    shared.setRates(.init(whole: 1_000_000, perHost: 1_000), at: now)
    other.take(1_250, of: Host("a"), at: now)
    other.reserve(for: Host("a"), until: now + second / 2, at: now)
    #expect(shared.opening(for: Host("b"), isUrgent: false, at: now) == now)
    let later = now + second / 4
    #expect(shared.opening(for: Host("a"), isUrgent: false, at: later) == now + second)
  }

  @Test func `without limits all bytes pass`() {
    #expect(!shared.isLimited)
    shared.take(1 << 30, of: Host("a"), at: now)
    #expect(shared.opening(for: Host("a"), at: now) == now)
  }

  @Test func `processes take from one bucket, and a changed limit holds at once`() {
    shared.setRates(.init(whole: 1_000), at: now)
    #expect(other.isLimited)
    other.take(8_250, of: Host("a"), at: now)
    #expect(shared.opening(at: now) == now + 8 * second)
    #expect(shared.opening(for: Host("b"), at: now) == now + 8 * second)
    shared.setRates(.init(whole: 4_000), at: now)
    #expect(other.opening(for: Host("b"), at: now) == now + 2 * second)
    shared.setRates(.init(), at: now)
    #expect(!other.isLimited)
    #expect(other.opening(for: Host("b"), at: now) == now)
  }

  @Test func `each host has a limit of its own beside that of all`() {
    shared.setRates(.init(whole: 4_000, perHost: 1_000), at: now)
    other.take(4_250, of: Host("a"), at: now)
    other.take(750, of: Host("b"), at: now)
    #expect(shared.opening(for: Host("a"), at: now) == now + 4 * second)
    #expect(shared.opening(for: Host("b"), at: now) == now + second)
    #expect(shared.opening(for: Host("c"), at: now) == now + second)
    shared.setRates(.init(perHost: 2_000), at: now)
    #expect(shared.opening(for: Host("a"), at: now) == now + 2 * second)
    #expect(shared.opening(for: Host("b"), at: now + second / 2) == now + second / 2)
  }

  @Test func `any number of hosts has limits, one after the other and beside each other`() {
    shared.setRates(.init(perHost: 1_000), at: now)
    for number in 0..<20_000 {
      let (host, time) = (Host("h\(number)"), now + UInt64(number) * second / 100)
      #expect(shared.opening(for: host, at: time) == time)
      shared.take(1_250, of: host, at: time)
      #expect(shared.opening(for: host, at: time) == time + second)
    }
    // More than there are places: some share one.
    let end = now + 1_000 * second
    for number in 0..<10_000 { shared.take(1_000, of: Host("g\(number)"), at: end) }
    #expect((0..<10_000).allSatisfy { shared.opening(for: Host("g\($0)"), at: end) > end })
  }
}
