@_spi(Containers) import ImgModel
import ImgSystem
import Synchronization

/// Thumbnails in the memory of this process, and their pixels where those were asked for: the ones that were
/// used last, up to a number of bytes.
///
/// All processes of a cluster together have one budget for what they keep in memory, of 40 MiB unless its operator sets
/// another one (`--memory-budget`). Each process that keeps pictures has an equal share as long as it is connected. The
/// share changes when others come and go; the cache then drops at once what has no room any more.
///
/// An image leaves when it expires, when others need its place, or when the machine runs out of memory. An
/// image that was removed from the store may stay until then, see ``removeAll()``.
public final class ImageMemoryCache: Sendable {
  /// What the cache holds, and how often it had what was asked for.
  public struct Statistics: Hashable, Sendable {
    /// The number of images. One whose pixels are there, too, counts twice.
    public internal(set) var count = 0
    /// The size of the images in bytes, with what the cache needs for each.
    public internal(set) var byteCount = 0
    /// How often the cache had what was asked for.
    public internal(set) var hitCount = 0
    /// How often it did not. Pixels that are not there do not count: their image is looked up next.
    public internal(set) var missCount = 0
  }

  private struct State {
    var entries = LeastRecentlyUsed<Key, Entry>()
    var hits = 0
    var misses = 0
    private var memberships: [Membership] = []

    /// The shares of the clusters whose images are here.
    var shares: [MemoryShare] { memberships.compactMap(\.share) }

    mutating func join(_ share: MemoryShare) {
      memberships.removeAll { $0.share == nil || $0.share === share }
      memberships.append(Membership(share: share))
    }
  }

  /// A share, which leaves with its transport.
  private struct Membership {
    weak var share: MemoryShare?
  }

  private enum Key: Hashable {
    case image(MemoryKey)
    case pixels(MemoryKey)

    var request: MemoryKey {
      switch self {
      case .image(let request), .pixels(let request): request
      }
    }
  }

  private struct Entry {
    enum Value {
      case image(LoadedImage)
      case pixels(ImagePixels)
    }

    let value: Value
    let expiresAt: WallTime
  }

  /// 40 MiB.
  public static let standardCapacity = MemoryShare.standardByteCount
  /// 10 MiB. A smaller maximum is raised to it.
  public static let minimumCapacity = 10 << 20

  /// What the initialiser was given; `nil` if the share of this process decides alone.
  private let maximum: Int?
  private let pressure: MemoryPressure
  private let state = Mutex(State())

  /// What the cache needs for an image beside its bytes, about.
  private static let overhead = 512

  /// An empty cache.
  ///
  /// - Parameter capacity: the maximum of ``capacity`` in bytes, see ``minimumCapacity``; `nil` for the
  ///   share of this process, whatever its size.
  public convenience init(capacity: Int? = nil) {
    self.init(capacity: capacity, pressure: MemoryPressure())
  }

  init(capacity: Int?, pressure: MemoryPressure) {
    maximum = capacity.map { max($0, Self.minimumCapacity) }
    self.pressure = pressure
  }

  /// The largest size of all images and pixels together now, in bytes: the share that this process has of its cluster's
  /// memory budget, or what the initialiser was given if that is less.
  ///
  /// The cluster is asked for the share once the cache keeps something; no coordinator is started for that. Until it
  /// answers, the share is the whole budget: `IMGCTL_MEMORY_BUDGET` of the environment, or ``standardCapacity``. After
  /// the connection is lost, the share stays as it was until another coordinator answers. Where many processes share the budget, it may be smaller than ``minimumCapacity``. A cache
  /// whose clients have transports of an app has no share.
  public var capacity: Int { capacity(within: state.withLock(\.shares)) }

  private func capacity(within shares: [MemoryShare]) -> Int {
    let share = shares.map(\.byteCount).min()
    return min(maximum ?? .max, share ?? maximum ?? Self.standardCapacity)
  }

  /// The cache keeps no more than this share permits from now on, beside others.
  func join(_ share: MemoryShare) {
    state.withLock { $0.join(share) }
    share.add(self)
  }

  /// The image of a request; `nil` if the cache does not have it, or the request wants another answer
  /// than a hit.
  public func image(for request: ImageRequest) -> LoadedImage? {
    guard request.takesHitsFromMemory else { return nil }
    let value = value(of: .image(MemoryKey(request)), countsMiss: true)
    guard case .image(let image) = value else { return nil }
    return image.from(.memory)
  }

  /// The decoded image of a request; `nil` if the cache does not have its pixels, or the request wants
  /// another answer than a hit.
  public func pixels(for request: ImageRequest) -> ImagePixels? {
    guard request.takesHitsFromMemory else { return nil }
    let value = value(of: .pixels(MemoryKey(request)), countsMiss: false)
    guard case .pixels(let pixels) = value else { return nil }
    return pixels
  }

  private func value(of key: Key, countsMiss: Bool) -> Entry.Value? {
    let now = WallTime.now
    return state.withLock { state in
      if let entry = state.entries.value(of: key), entry.expiresAt <= now {
        state.entries.remove(key)
      }
      let entry = state.entries.use(key)
      if entry != nil { state.hits += 1 } else if countsMiss { state.misses += 1 }
      return entry?.value
    }
  }

  /// Remembers the image of a request in place of the one before, whose pixels are forgotten. One that is
  /// larger than the cache, is not stored, or has an expiry that each access moves is not remembered.
  public func insert(_ image: LoadedImage, for request: ImageRequest) {
    insert(
      .image(image), byteCount: image.bytes.count, of: image, for: request,
      replacing: [.image(MemoryKey(request)), .pixels(MemoryKey(request))])
  }

  /// Remembers the pixels of a request's image, on the same terms.
  func insert(_ pixels: ImagePixels, of image: LoadedImage, for request: ImageRequest) {
    insert(
      .pixels(pixels), byteCount: pixels.bytes.count, of: image, for: request,
      replacing: [.pixels(MemoryKey(request))])
  }

  /// - Parameter keys: what is forgotten; the value has the first of them.
  private func insert(
    _ value: Entry.Value, byteCount: Int, of image: LoadedImage, for request: ImageRequest,
    replacing keys: [Key]
  ) {
    guard request.cachePolicy != .bypass else { return }
    let cost = byteCount + MemoryKey(request).byteCount + Self.overhead
    let isPressureHigh = pressure.isHigh()
    let shares = state.withLock { state in
      let capacity = capacity(within: state.shares)
      let limit = isPressureHigh ? capacity / 8 : capacity
      for key in keys { state.entries.remove(key) }
      if let expiresAt = image.expiresAt, !image.isExpirySliding, cost <= limit {
        state.entries.insert(
          Entry(value: value, expiresAt: WallTime(expiresAt)), as: keys[0], cost: cost)
      }
      state.entries.trim(toCost: limit)
      return state.shares
    }
    for share in shares { share.settle() }
  }

  /// Forgets the image of a request, and its pixels.
  public func removeImage(for request: ImageRequest) {
    let key = MemoryKey(request)
    state.withLock { state in
      _ = state.entries.remove(.image(key))
      _ = state.entries.remove(.pixels(key))
    }
  }

  /// Forgets all images of a URL and their pixels: in every variant, and for every spelling of the URL.
  public func removeImages(of url: String) {
    removeImages(for: ImageRequest(url: url))
  }

  /// Forgets all images of the picture of a request and their pixels, see ``ImageCache/removeAll(for:)``.
  public func removeImages(for request: ImageRequest) {
    let name = MemoryKey(request).name
    state.withLock { state in
      let unwanted = state.entries.keys.filter { $0.request.name == name }
      for key in unwanted { state.entries.remove(key) }
    }
  }

  /// Forgets all images.
  public func removeAll() {
    trim(toByteCount: 0)
  }

  /// Forgets the images that were not used for longest, until the others have so many bytes at most.
  public func trim(toByteCount byteCount: Int) {
    state.withLock { $0.entries.trim(toCost: max(0, byteCount)) }
  }

  /// What the cache holds now.
  public var statistics: Statistics {
    state.withLock { state in
      Statistics(
        count: state.entries.count, byteCount: state.entries.cost, hitCount: state.hits,
        missCount: state.misses)
    }
  }
}

extension ImageMemoryCache: MemoryUser {
  package var keptByteCount: Int { state.withLock(\.entries.cost) }
}

/// What tells images apart in memory.
struct MemoryKey: Hashable, Sendable {
  /// The URL as the request spells it, without its ignored query parameters; or the cache key.
  let url: String
  private let variant: ImageVariant
  private let headers: [ImageRequest.HeaderField]
  private let acceptsDamage: Bool
  private let version: String?

  init(_ request: ImageRequest) {
    url = request.nameText
    variant = request.variant
    headers = request.headers
    acceptsDamage = request.acceptsDamage
    version = request.cacheKey == nil ? request.version : nil
  }

  /// What names the picture: the same for each spelling of its URL.
  var name: String { (try? ImageURL(line: url))?.text ?? url }

  /// What a cache needs for the key, in bytes.
  var byteCount: Int {
    headers.reduce(url.utf8.count + (version?.utf8.count ?? 0)) {
      $0 + $1.name.utf8.count + $1.value.utf8.count
    }
  }
}

extension ImageRequest {
  /// The text that names the picture, see `FetchOptions.name(of:)`. The URL is not normalized.
  fileprivate var nameText: String {
    if let cacheKey { return cacheKey }
    guard !ignoredQuery.isEmpty, let filter = try? QueryFilter(ignoredQuery),
      (try? ImageURL(line: url))?.isLocal == false
    else { return url }
    return filter.filtered(url)
  }

  /// Whether memory may answer. It cannot ask the origin, and cannot extend an expiry in the store.
  var takesHitsFromMemory: Bool {
    [.cacheElseLoad, .cacheOnly].contains(cachePolicy) && delay == .zero && expiry == .standard
  }
}

/// Whether the machine, or the control group of this process, has little memory left.
final class MemoryPressure: Sendable {
  private let read: @Sendable () -> [AvailableMemory]
  private let last: Mutex<(isHigh: Bool, at: ContinuousClock.Instant)?>

  /// How long an answer holds: the question costs some 50 µs.
  private static let interval = Duration.seconds(1)
  /// Less than one part in so many is little.
  private static let divisor = 20

  /// - Parameter read: each limit of memory that is known.
  init(read: @escaping @Sendable () -> [AvailableMemory] = { AvailableMemory.now }) {
    self.read = read
    last = Mutex(nil)
  }

  func isHigh(at now: ContinuousClock.Instant = .now) -> Bool {
    last.withLock { last in
      if let last, last.at + Self.interval > now { return last.isHigh }
      let isHigh = read().contains { $0.availableByteCount < $0.totalByteCount / Self.divisor }
      last = (isHigh, now)
      return isHigh
    }
  }
}

/// What keeps pictures in the memory of this process.
package protocol MemoryUser: AnyObject, Sendable {
  /// The size of what it keeps, in bytes.
  var keptByteCount: Int { get }
  /// Drops what was not used for longest, until the rest has so many bytes at most.
  func trim(toByteCount byteCount: Int)
}

/// The share of the cluster's memory budget that this process has, or one connection of it, and what uses it.
///
/// The coordinator tells it once something is kept, and whenever it changes. Before that, it is the whole budget. When the
/// connection is lost, it stays as it is, until another coordinator tells it.
///
/// A user takes what the others leave. When all of them together keep more than the share, the larger ones make room,
/// in proportion to their weights (max-min fairness): one that keeps less than its part loses nothing.
package final class MemoryShare: Sendable {
  private struct Member {
    weak var user: (any MemoryUser)?
    let weight: Int
  }

  /// A member that exists, and what it keeps.
  private struct Use {
    let user: any MemoryUser
    let weight: Int
    let byteCount: Int
  }

  private struct State {
    var members: [Member] = []
    /// From when on the coordinator may be asked; `nil` while it tells the size.
    var nextQuestion: ContinuousClock.Instant? = .now

    mutating func uses() -> [Use] {
      members.removeAll { $0.user == nil }
      return members.compactMap { member in
        member.user.map { Use(user: $0, weight: member.weight, byteCount: $0.keptByteCount) }
      }
    }

    mutating func takeQuestion(at now: ContinuousClock.Instant) -> Bool {
      guard let question = nextQuestion, question <= now else { return false }
      nextQuestion = now + MemoryShare.questionInterval
      return true
    }
  }

  /// 40 MiB.
  package static let standardByteCount = 40 << 20
  /// Where no coordinator runs, one is looked for no more often.
  private static let questionInterval = Duration.seconds(10)

  private let size: Atomic<Int>
  private let state = Mutex(State())
  private let ask: @Sendable () -> Void

  /// - Parameters:
  ///   - byteCount: the size until the coordinator tells it.
  ///   - ask: is called when something is kept and the coordinator does not tell the size. Must not block.
  package init(
    byteCount: Int = standardByteCount, ask: @escaping @Sendable () -> Void = {}
  ) {
    size = Atomic(byteCount)
    self.ask = ask
  }

  /// What all users together may keep.
  package var byteCount: Int { size.load(ordering: .relaxed) }

  /// What all users together keep.
  package var keptByteCount: Int { state.withLock { Self.total($0.uses()) } }

  /// Adds a user, which leaves with its object.
  ///
  /// - Parameter weight: see ``part(of:)``.
  package func add(_ user: any MemoryUser, weight: Int = 1) {
    state.withLock { state in
      if state.members.contains(where: { $0.user === user }) { return }
      state.members.append(Member(user: user, weight: weight))
    }
    settle()
  }

  /// The coordinator tells the size. The users drop at once what has no room any more.
  package func change(to byteCount: Int) {
    state.withLock { $0.nextQuestion = nil }
    size.store(max(0, byteCount), ordering: .relaxed)
    settle()
  }

  /// The connection to the coordinator is lost. The next one is asked.
  func coordinatorLeft() {
    state.withLock { $0.nextQuestion = .now }
  }

  /// What a user may keep whatever the others want: its part by its weight.
  package func part(of user: any MemoryUser) -> Int {
    state.withLock { state in
      let uses = state.uses()
      guard let own = uses.first(where: { $0.user === user }) else { return 0 }
      return byteCount * own.weight / uses.reduce(0) { $0 + $1.weight }
    }
  }

  /// Makes the users drop what is too much. A user calls it when it keeps more than before, without a lock of its own.
  package func settle() {
    let isQuestionDue = state.withLock { state in
      let uses = state.uses()
      let total = Self.total(uses)
      if total > byteCount { Self.trim(uses, toByteCount: byteCount) }
      return total > 0 && state.takeQuestion(at: .now)
    }
    if isQuestionDue { ask() }
  }

  private static func total(_ uses: [Use]) -> Int { uses.reduce(0) { $0 + $1.byteCount } }

  private static func trim(_ uses: [Use], toByteCount byteCount: Int) {
    var room = byteCount
    var weight = uses.reduce(0) { $0 + $1.weight }
    // What the smaller ones leave of their parts is for the larger ones.
    for use in uses.sorted(by: { $0.byteCount * $1.weight < $1.byteCount * $0.weight }) {
      let part = min(use.byteCount, room * use.weight / weight)
      if part < use.byteCount { use.user.trim(toByteCount: part) }
      room -= part
      weight -= use.weight
    }
  }
}

/// A transport whose cluster limits what processes keep in memory.
package protocol MemorySharingTransport: ImageTransport {
  /// For what keeps pictures of this transport.
  var memory: MemoryShare { get }
}

extension ClusterTransport: MemorySharingTransport {
  package var memory: MemoryShare { session.memory }
}

extension InMemoryCluster: MemorySharingTransport {}
