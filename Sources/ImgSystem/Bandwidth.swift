/// The bytes that a limit of bandwidth lets through: the generic cell rate algorithm, which holds a
/// bucket's whole state in one moment (ITU-T Recommendation I.371, annex A), so that processes can
/// share it in one word.
///
/// While the bucket is open, a piece of any size passes. It closes the bucket until the rate has made
/// up for it. So what passes in any span of time is at most what the rate lets through in that span and
/// in ``burstTime``, and one piece.
package struct ByteBucket: Hashable, Sendable {
  /// When it opens, in nanoseconds of a clock that never jumps; past if it is open.
  package private(set) var opensAt: UInt64

  /// Bytes gather for so long while nothing passes.
  package static let burstTime: UInt64 = 250_000_000
  /// No bucket is closed for longer. A word that says otherwise is damaged.
  package static let longestTime: UInt64 = 600_000_000_000

  package init(opensAt: UInt64 = 0) {
    self.opensAt = opensAt
  }

  package func isOpen(at now: UInt64) -> Bool {
    opensAt <= now || opensAt - now > Self.longestTime
  }

  /// Whether it is as if nothing had ever passed.
  package func isFull(at now: UInt64) -> Bool {
    isOpen(at: now) && (opensAt > now || now - opensAt >= Self.burstTime)
  }

  /// Bytes pass, also where the bucket is closed.
  ///
  /// - Parameter rate: bytes in a second, at least 1.
  package mutating func take(_ byteCount: Int, rate: UInt64, at now: UInt64) {
    let burstStart = now > Self.burstTime ? now - Self.burstTime : 0
    let begin = isFull(at: now) ? burstStart : opensAt
    let time = 1_000_000_000 * UInt64(byteCount) / rate
    opensAt = min(begin + time, now + Self.longestTime)
  }

  /// From now on another rate holds. What has passed already is made up for at the new one.
  package mutating func change(from old: UInt64, to new: UInt64, at now: UInt64) {
    guard !isOpen(at: now) else { return }
    let time = Double(opensAt - now) * Double(old) / Double(new)
    opensAt = now + UInt64(min(time, Double(Self.longestTime)))
  }
}

/// The limits of bandwidth of a cluster, in memory that its coordinator and all its workers map: one for
/// all hosts together, one for each host, and the buckets of both. Workers take bytes from the same
/// buckets, so no worker has a share that another one could use, and a changed limit holds at once.
///
/// A bucket that is full says nothing, so its place is free for another host. In the rare case that a host
/// finds no place, it shares one with another host, and both have the limit of one.
///
/// Only the coordinator writes the limits. The buckets are words that all workers write: one that an origin has taken
/// over can hold the transfers of the others, or let them through sooner. It reaches neither their data nor their
/// addresses here.
///
/// Transfers that a client waits for go first: while one is held, it *reserves* the bytes of the bucket that holds it,
/// for a moment. No other transfer takes any meanwhile, in whichever process.
package final class SharedBandwidth: Sendable {
  /// A host, as the number that stands for its name. Two names have one number once in 10^19.
  package struct Host: Hashable, Sendable {
    let number: UInt64

    /// FNV-1a of the name, and never 0.
    package init(_ name: String) {
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      number = max(hash, 1)
    }
  }

  /// Bytes in a second; 0 for no limit.
  package struct Rates: Hashable, Sendable {
    package let whole: Int64
    package let perHost: Int64

    package init(whole: Int64 = 0, perHost: Int64 = 0) {
      self.whole = whole
      self.perHost = perHost
    }
  }

  /// Written by the coordinator.
  private enum RateWord {
    static let whole = 0
    static let perHost = 1
    static let count = 2
  }

  private enum Word {
    static let bucket = 0
    static let reservation = 1
    /// Three words for each place: the host's number, its bucket, and until when that is reserved.
    static let places = 2
    static let wordsPerPlace = 3
    static let count = places + wordsPerPlace * placeCount
  }

  /// Many times as many as transfers run at once by default.
  private static let placeCount = 4_096
  /// A host's bucket lies in one of so many places.
  private static let placesPerHost = 8

  /// No reservation lasts longer. A word that says otherwise is damaged.
  private static let longestReservation: UInt64 = 1_000_000_000

  private let rates: SharedWords
  private let words: SharedWords

  /// New memory without limits.
  package init() throws(SystemError) {
    rates = try SharedWords(count: RateWord.count, writers: .creator)
    words = try SharedWords(count: Word.count)
  }

  /// Maps the memory that another process created, and alone gives limits.
  ///
  /// - Parameters:
  ///   - state: of ``descriptors``.
  ///   - rates: of ``descriptors``.
  package init(
    adopting state: consuming OwnedDescriptor, rates: consuming OwnedDescriptor
  ) throws(SystemError) {
    self.rates = try SharedWords(adopting: rates, count: RateWord.count, isWritable: false)
    words = try SharedWords(adopting: state, count: Word.count)
  }

  /// The descriptors for the process that shares the limits: of the buckets, and of the limits, which it can only read.
  package var descriptors: (state: CInt, rates: CInt) { (words.descriptor, rates.descriptor) }

  /// Of all hosts together; 0 for no limit.
  private var rate: UInt64 { rates.load(RateWord.whole) }
  /// Of one host; 0 for no limit.
  private var hostRate: UInt64 { rates.load(RateWord.perHost) }

  // MARK: - Limits

  /// Whether there is a limit. Costs two loads.
  package var isLimited: Bool { rate != 0 || hostRate != 0 }

  /// - Precondition: this process created the memory.
  package func setRates(_ rates: Rates, at now: UInt64) {
    change(RateWord.whole, to: rates.whole, of: [Word.bucket], at: now)
    change(
      RateWord.perHost, to: rates.perHost, of: (0..<Self.placeCount).map(Self.bucket(ofPlace:)),
      at: now)
  }

  private func change(_ word: Int, to rate: Int64, of buckets: [Int], at now: UInt64) {
    let (old, new) = (rates.load(word), UInt64(max(rate, 0)))
    guard old != new else { return }
    rates.store(new, at: word)
    for bucket in buckets {
      // Without a limit before, or from now on, nothing is owed.
      update(bucket) {
        if old == 0 || new == 0 {
          $0 = ByteBucket()
        } else {
          $0.change(from: old, to: new, at: now)
        }
      }
    }
  }

  // MARK: - Bytes

  /// When bytes of a host may pass; now if they may at once.
  ///
  /// - Parameter isUrgent: whether a client waits for them, so that they pass where bytes are reserved.
  package func opening(for host: Host, isUrgent: Bool = true, at now: UInt64) -> UInt64 {
    let opening = max(opening(at: now), ownOpening(for: host, at: now))
    return isUrgent ? opening : max(opening, reservation(for: host, at: now))
  }

  /// When bytes of a host may pass, as far as its own limit is concerned.
  private func ownOpening(for host: Host, at now: UInt64) -> UInt64 {
    guard hostRate != 0, let place = place(of: host, at: now) else { return now }
    return opening(of: Self.bucket(ofPlace: place), at: now)
  }

  /// When bytes of any host may pass, as far as the limit of all hosts together is concerned.
  package func opening(at now: UInt64) -> UInt64 {
    rate != 0 ? opening(of: Word.bucket, at: now) : now
  }

  private func opening(of index: Int, at now: UInt64) -> UInt64 {
    let bucket = bucket(index)
    return bucket.isOpen(at: now) ? now : bucket.opensAt
  }

  /// Bytes of a host have passed.
  package func take(_ byteCount: Int, of host: Host, at now: UInt64) {
    let (rate, hostRate) = (rate, hostRate)
    if rate != 0 { update(Word.bucket) { $0.take(byteCount, rate: rate, at: now) } }
    if hostRate != 0 {
      let place = place(of: host) ?? claimPlace(for: host, at: now)
      update(Self.bucket(ofPlace: place)) { $0.take(byteCount, rate: hostRate, at: now) }
    }
  }

  // MARK: - Reservations

  /// A transfer of a host is held that a client waits for: until then nothing else takes bytes from the bucket that
  /// holds it. Where the host's own bucket holds it for longer, those of all hosts are not reserved.
  package func reserve(for host: Host, until moment: UInt64, at now: UInt64) {
    let (whole, own) = (opening(at: now), ownOpening(for: host, at: now))
    if hostRate != 0 {
      let place = place(of: host) ?? claimPlace(for: host, at: now)
      words.store(moment, at: Self.reservation(ofPlace: place))
    }
    if rate != 0, whole >= own { words.store(moment, at: Word.reservation) }
  }

  /// Until when bytes of a host are reserved; now if they are not.
  private func reservation(for host: Host, at now: UInt64) -> UInt64 {
    let whole = rate != 0 ? reservation(Word.reservation, at: now) : now
    guard hostRate != 0, let place = place(of: host) else { return whole }
    return max(whole, reservation(Self.reservation(ofPlace: place), at: now))
  }

  private func reservation(_ index: Int, at now: UInt64) -> UInt64 {
    let end = words.load(index)
    return end > now && end - now <= Self.longestReservation ? end : now
  }

  // MARK: - Places

  private static func name(ofPlace place: Int) -> Int {
    Word.places + Word.wordsPerPlace * place
  }

  private static func bucket(ofPlace place: Int) -> Int { name(ofPlace: place) + 1 }

  private static func reservation(ofPlace place: Int) -> Int { name(ofPlace: place) + 2 }

  private static func places(for host: Host) -> [Int] {
    let first = Int(host.number % UInt64(placeCount))
    return (0..<placesPerHost).map { (first + $0) % placeCount }
  }

  /// - Returns: `nil` for a host whose bucket is full and has no place.
  private func place(of host: Host, at now: UInt64) -> Int? {
    if let place = place(of: host) { return place }
    let places = Self.places(for: host)
    let isAnyFree = places.contains { bucket(Self.bucket(ofPlace: $0)).isFull(at: now) }
    return isAnyFree ? nil : places[0]
  }

  private func place(of host: Host) -> Int? {
    Self.places(for: host).first { words.load(Self.name(ofPlace: $0)) == host.number }
  }

  /// A place whose bucket is full, else one that the host shares.
  private func claimPlace(for host: Host, at now: UInt64) -> Int {
    let places = Self.places(for: host)
    for place in places where bucket(Self.bucket(ofPlace: place)).isFull(at: now) {
      let name = Self.name(ofPlace: place)
      if words.replace(words.load(name), by: host.number, at: name) { return place }
    }
    return place(of: host) ?? places[0]
  }

  private func bucket(_ index: Int) -> ByteBucket { ByteBucket(opensAt: words.load(index)) }

  /// Changes a bucket that other processes change at the same time.
  private func update(_ index: Int, _ body: (inout ByteBucket) -> Void) {
    var bucket: ByteBucket
    var expected: UInt64
    repeat {
      expected = words.load(index)
      bucket = ByteBucket(opensAt: expected)
      body(&bucket)
    } while !words.replace(expected, by: bucket.opensAt, at: index)
  }
}
