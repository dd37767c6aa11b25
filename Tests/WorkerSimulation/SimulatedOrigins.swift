package import ImgModel
import ImgWire
import ImgWorkerMachine
package import SeededRandom

/// The origins of a simulation, which workers share. The seed chooses what each request gets.
package final class SimulatedOrigins {
  enum Answer {
    case redirect(ImageURL)
    case notModified
    /// - retryAfter: the seconds for which the host wants no request; `nil` if it does not say.
    case failed(Failure, retryAfter: Int64?)
    /// The host wants no request for these seconds, and nothing was sent.
    case deferred(seconds: Int64)
    case body(optOut: Failure?)
  }

  /// Where redirects lead.
  private let hosts: [String]
  /// A host whose requests all fail until the origins are calm.
  private let brokenHost: String?
  /// Whether every request succeeds from now on.
  package var isCalm = false

  package init(hosts: [String] = ["a.example", "other.example"], brokenHost: String? = nil) {
    self.hosts = hosts
    self.brokenHost = brokenHost
  }

  /// Whether every decode of the picture ends its decoder.
  static func isDeadly(_ url: ImageURL) -> Bool { url.text.hasSuffix("/deadly") }

  /// Whether robots.txt forbids the URL.
  static func isClosed(_ url: ImageURL) -> Bool {
    url.text.dropFirst(url.origin.count).hasPrefix("/closed")
  }

  /// Each list permits redirects to one host.
  private static let lists = ["a.example", "host1"].compactMap { host in
    (try? OriginPattern(parsing: host)).flatMap { try? OriginList([$0]) }
  }

  /// The origins that redirects of a request may lead to.
  package static func list(_ random: inout SeededGenerator) -> OriginList {
    Int.random(in: 0..<3, using: &random) == 0 ? lists.randomElement(using: &random) ?? .all : .all
  }

  // MARK: - Pictures

  /// - Parameter mayMatch: whether the request may ask if a stored record still matches.
  func answer(
    _ transfer: SimulatedTransfer, mayMatch: Bool, _ random: inout SeededGenerator
  ) -> Answer {
    guard !isCalm else { return .body(optOut: nil) }
    if transfer.url.host == brokenHost {
      return .failed(Self.failure(status: 503), retryAfter: nil)
    }
    switch Int.random(in: 0..<14, using: &random) {
    case 0, 1:
      guard transfer.redirects.count < 3, let url = target(of: transfer, &random) else { break }
      return .redirect(url)
    case 2 where mayMatch: return .notModified
    case 3:
      let failure = Failure(stage: .fetch, code: .truncatedBody, detail: "broken")
      return .failed(failure, retryAfter: nil)
    case 4:
      let isPatient = Bool.random(using: &random)
      let seconds = Int64.random(in: 0...9, using: &random)
      let status = isPatient ? 429 : 503
      return .failed(Self.failure(status: status), retryAfter: isPatient ? seconds : nil)
    case 5:
      let status = Bool.random(using: &random) ? 404 : 410
      return .failed(Self.failure(status: status), retryAfter: nil)
    case 6 where transfer.order.options.respectsOptOut:
      return .failed(Self.optOut, retryAfter: nil)
    case 7: return .deferred(seconds: .random(in: 0...9, using: &random))
    case 8: return .body(optOut: Self.optOut)
    default: break
    }
    return .body(optOut: nil)
  }

  private func target(
    of transfer: SimulatedTransfer, _ random: inout SeededGenerator
  ) -> ImageURL? {
    let host = hosts[Int.random(in: hosts.indices, using: &random)]
    let path = Int.random(in: 0..<4, using: &random) == 0 ? "closed" : "elsewhere"
    return try? ImageURL(parsing: "http://\(host)/\(path)")
  }

  // MARK: - Robots

  /// - Returns: the answer, and the seconds for which the host wants no request.
  func robots(_ random: inout SeededGenerator) -> (RobotsAnswer, retryAfter: Int64?) {
    guard !isCalm else { return (.rules(SimulatedRobots()), nil) }
    let failure = Self.failure(status: 503)
    return switch Int.random(in: 0..<6, using: &random) {
    case 0: (.unavailable(failure, isDeferred: false), nil)
    case 1:
      (.unavailable(failure, isDeferred: true), Int64.random(in: 0...9, using: &random))
    default: (.rules(SimulatedRobots()), nil)
    }
  }

  // MARK: - Failures

  private static let optOut = Failure(stage: .fetch, code: .optedOut, detail: "not wanted")

  private static func failure(status: Int) -> Failure {
    Failure(stage: .fetch, code: .httpStatus, httpStatus: status, detail: "")
  }
}

/// A transfer of a worker, and where its redirects have led it.
struct SimulatedTransfer {
  let order: FetchOrder
  /// What it asks for.
  var url: ImageURL
  var redirects: [ImageURL] = []

  var id: TransferID { TransferID(startedBy: order.lease) }
}

/// Closes the paths that begin with `/closed`.
struct SimulatedRobots: RobotsRuleSet {
  let text = "Disallow: /closed"
  let crawlDelay: Duration? = nil

  func permits(_ url: ImageURL) throws(Failure) -> Bool { !SimulatedOrigins.isClosed(url) }
}

/// A store that workers share: which records there are, without their bytes.
package final class SimulatedStore {
  private struct Record: Hashable {
    let name: PictureName
    /// `nil` of an original.
    let variant: Variant?
    let part: PicturePart
  }

  /// The oldest first.
  private var records: [Record] = []
  private var origins: Set<String> = []
  /// Whether it takes no records.
  package var isFull = false
  /// Whether it serves stale records while they are revalidated.
  package var servesStale = false
  /// Whether it refuses no record that it has room for.
  package var isCalm = false

  package init() {}

  // MARK: - Records

  func put(_ request: StoreRequest) {
    for new in request.records {
      let order = request.order
      let record =
        switch new.kind {
        case .thumbnail(let index):
          Record(
            name: order.name, variant: order.request.variants[index],
            part: order.request.keep.part)
        case .original: Record(name: order.name, variant: nil, part: .whole)
        }
      if !records.contains(record) { records.append(record) }
    }
  }

  /// Why it does not take a record; `nil` if it takes it.
  func refusal(_ random: inout SeededGenerator) -> StoreRefusal? {
    let failure = Failure(stage: .store, code: .storeFull, detail: "full")
    if isFull { return StoreRefusal(failure: failure, isStoreDegraded: true) }
    guard !isCalm, Int.random(in: 0..<8, using: &random) == 0 else { return nil }
    return StoreRefusal(failure: failure, isStoreDegraded: Bool.random(using: &random))
  }

  /// Removes one of the records.
  package func evict(_ random: inout SeededGenerator) {
    guard !records.isEmpty else { return }
    records.remove(at: Int.random(in: records.indices, using: &random))
  }

  /// It is recreated.
  package func removeAll() {
    records = []
    origins = []
  }

  func hasOriginal(of name: PictureName) -> Bool {
    records.contains(Record(name: name, variant: nil, part: .whole))
  }

  /// Whether all that the order asks for is there.
  func answers(_ order: FetchOrder) -> Bool {
    let request = order.request
    let hasThumbnail = records.contains(
      Record(name: order.name, variant: request.variant, part: request.keep.part))
    return (!request.keep.includesOriginal || hasOriginal(of: order.name))
      && (request.keep.isOriginalAlone || hasThumbnail)
  }

  /// What a look-up finds. Under the HTTP policy every record is stale.
  func lookUp(_ batch: Batch, at now: Instant) -> LookupResults {
    var hits: [LookupResults.Hit] = []
    var stale: [LeaseID] = []
    var originals: [LeaseID] = []
    var misses: [LeaseID] = []
    for item in batch.items {
      let lease = item.lease
      guard let order = try? FetchOrder(item, of: batch, at: now) else {
        misses.append(lease)
        continue
      }
      switch batch.request.fetch.cachePolicy {
      case .cacheElseLoad, .cacheOnly:
        if answers(order) {
          hits.append(LookupResults.Hit(lease: lease, thumbnail: .simulated))
        } else if hasOriginal(of: order.name) {
          originals.append(lease)
        } else {
          misses.append(lease)
        }
      case .byProtocol where answers(order) && (batch.takesStale || servesStale):
        hits.append(LookupResults.Hit(lease: lease, thumbnail: .simulated))
        if !batch.takesStale { stale.append(lease) }
      case .byProtocol, .reload: misses.append(lease)
      }
    }
    return LookupResults(hits: hits, stale: stale, originals: originals, misses: misses)
  }

  // MARK: - Robots

  func putRobots(of origin: String) {
    origins.insert(origin)
  }

  func hasRobots(of origin: String) -> Bool { origins.contains(origin) }
}

extension Thumbnail {
  static let simulated = Thumbnail(format: .jpeg, width: 256, height: 192, byteCount: 1_000)
}
