public import ImgModel
import ImgWire

@testable import ImgWorkerMachine

/// A machine whose events a test makes up, with a clock that stands still. Effects and messages are
/// read as short sentences such as `start 1` and `finished 1 done`.
struct TestDriver {
  private var machine: WorkerMachine
  private(set) var now = Moment(instant: .now, wall: WallTime(rawValue: 1_800_000_000_000))
  /// What the orders of effects hold, by lease.
  private(set) var orders: [LeaseID: FetchOrder] = [:]
  /// What was to be stored, by lease.
  private(set) var storeRequests: [LeaseID: StoreRequest] = [:]
  /// The results that were sent, by lease.
  private(set) var results: [LeaseID: FetchResults.Result] = [:]
  private(set) var uncached: [LeaseID: UncachedResult] = [:]
  private(set) var hostUpdates: [HostUpdates] = []
  private var previewOrders: [PreviewOrder] = []

  static let url = "http://example.com/a.jpg"
  static let origin = "http://example.com"

  init() {
    machine = WorkerMachine(at: now)
  }

  mutating func advance(by duration: Duration) {
    now = Moment(instant: now.instant + duration, wall: now.wall.advanced(by: duration))
  }

  // MARK: - Events

  /// - Returns: the effects of the event.
  @discardableResult
  mutating func handle(_ event: WorkerMachine.Event) -> [String] {
    let effects = machine.handle(event, at: now)
    effects.forEach { note($0) }
    return effects.map(\.summary)
  }

  /// - Returns: what the turn tells the coordinator, and other effects of its end.
  mutating func endTurn(_ updates: HostUpdates = HostUpdates()) -> [String] {
    handle(.turnEnded(updates, decodeQueueCount: 3)).filter { $0 != "send uncached" }
  }

  var watchedTransfers: Set<TransferID> { machine.watchedTransfers }
  var previewDeadline: Instant? { machine.previewDeadline }
  var progressDeadline: Instant? { machine.progressDeadline }

  /// The latest order of a preview for the lease.
  func previewOrder(_ lease: LeaseID, of transfer: TransferID) -> PreviewOrder {
    guard let order = previewOrders.last(where: { $0.lease == lease && $0.transfer == transfer })
    else { preconditionFailure("no preview was ordered") }
    return order
  }

  var hasReport: Bool { machine.hasReport }
  var mayReportLater: Bool { machine.mayReportLater }

  @discardableResult
  mutating func fetch(
    _ leases: [LeaseID], _ url: String = Self.url, _ request: ThumbnailRequest = .sample
  ) -> [String] {
    handle(.received(.fetch(Self.batch(leases, url, request))))
  }

  @discardableResult
  mutating func attach(
    _ leases: [LeaseID], _ url: String = Self.url, _ request: ThumbnailRequest = .sample
  ) -> [String] {
    handle(.received(.attach(Self.batch(leases, url, request))))
  }

  @discardableResult
  mutating func decode(
    _ leases: [LeaseID], _ url: String = Self.url, _ request: ThumbnailRequest = .sample
  ) -> [String] {
    handle(.received(.decode(Self.batch(leases, url, request))))
  }

  static func batch(
    _ leases: [LeaseID], _ url: String = Self.url, _ request: ThumbnailRequest = .sample,
    retention: Retention = Retention(after: .seconds(60)), isUrgent: Bool = false
  ) -> Batch {
    Batch(
      request, retention: retention, isUrgent: isUrgent,
      items: leases.map { Assignment(lease: $0, url: url) })
  }

  @discardableResult
  mutating func cancel(_ leases: [LeaseID]) -> [String] {
    handle(.received(.cancel(leases)))
  }

  /// The body of the transfer is in.
  @discardableResult
  mutating func receiveBody(
    of transfer: TransferID, _ facts: BodyFacts = .sample, wasRedirected: Bool = false,
    leftover: TransferEnd.Leftover = .unchanged
  ) -> [String] {
    handle(
      .transferEnded(
        transfer,
        TransferEnd(
          .body(facts), freshByteCount: 30, wasRedirected: wasRedirected, leftover: leftover)))
  }

  @discardableResult
  mutating func fail(
    _ transfer: TransferID, _ failure: Failure = .broken,
    leftover: TransferEnd.Leftover = .unchanged, wasRedirected: Bool = false
  ) -> [String] {
    handle(
      .transferEnded(
        transfer,
        TransferEnd(
          .failed(failure), freshByteCount: 20, wasRedirected: wasRedirected, leftover: leftover)))
  }

  @discardableResult
  mutating func decode(_ lease: LeaseID, _ picture: DecodedPicture = .sample) -> [String] {
    handle(.decoded(lease, .picture(picture), time: .milliseconds(7)))
  }

  // MARK: - Effects

  private mutating func note(_ effect: WorkerMachine.Effect) {
    switch effect {
    case .startTransfer(let order), .decode(let order, _), .renew(let order),
      .findOriginal(let order), .findStale(let order):
      orders[order.lease] = order
    case .put(let request): storeRequests[request.order.lease] = request
    case .makePreview(let order): previewOrders.append(order)
    case .deliver(let result): uncached[result.lease] = result
    case .send(.finished(let list)):
      for result in list.results { results[result.lease] = result }
    case .send(.hostUpdates(let updates)): hostUpdates.append(updates)
    default: break
    }
  }
}

extension ThumbnailRequest {
  static let sample = ThumbnailRequest(variant: .standard)

  static func sample(
    keep: Keep = .thumbnail, policy: CachePolicy = .cacheElseLoad, respectsOptOut: Bool = false,
    respectsRobots: Bool = false, redirectOrigins: OriginList = .all, cacheKey: CacheKey? = nil,
    bypassesStore: Bool = false
  ) -> ThumbnailRequest {
    ThumbnailRequest(
      variant: .standard, keep: keep,
      fetch: FetchOptions(
        cachePolicy: policy, cacheKey: cacheKey, respectsOptOut: respectsOptOut,
        respectsRobots: respectsRobots, redirectOrigins: redirectOrigins),
      bypassesStore: bypassesStore)
  }

  static let obedient = sample(respectsRobots: true)
  static let byProtocol = sample(policy: .byProtocol)
}

extension BodyFacts {
  static let sample = BodyFacts(
    byteCount: 25, receivedByteCount: 40, reuse: AnswerReuse(terms: .none, isStorable: true))
  /// The origin forbids storing it.
  static let notToStore = BodyFacts(
    byteCount: 25, receivedByteCount: 40, reuse: AnswerReuse(terms: .none, isStorable: false))
}

extension Failure {
  static let broken = Failure(stage: .fetch, code: .truncatedBody, detail: "it broke off")
  static let unavailable = Failure(
    stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "the origin answered 503")
  static let missing = Failure(
    stage: .fetch, code: .httpStatus, httpStatus: 404, detail: "the origin answered 404")
  static let optedOut = Failure(stage: .fetch, code: .optedOut, detail: "not wanted")
  static let storeFull = Failure(stage: .store, code: .storeFull, detail: "full")
}

extension DecodedPicture {
  static let damaged = DecodedPicture(
    thumbnail: Thumbnail(format: .jpeg, width: 64, height: 48, byteCount: 10, isDamaged: true),
    source: SourceFacts(format: .png, width: 640, height: 480, frames: 1))

  static let sample = DecodedPicture(
    thumbnail: Thumbnail(format: .jpeg, width: 64, height: 48, byteCount: 10),
    source: SourceFacts(format: .png, width: 640, height: 480, frames: 1))

  static let undecoded = DecodedPicture(
    thumbnail: Thumbnail(format: .png, width: 640, height: 480, byteCount: 10),
    source: SourceFacts(format: .png, width: 640, height: 480, frames: 1, decodePath: .undecoded))
}

extension WallTime {
  /// The year 2096.
  static let distantFuture = WallTime(rawValue: 4_000_000_000_000)
}

/// Rules that close the paths with this beginning.
struct ClosedPath: RobotsRuleSet {
  var path = "//"
  var crawlDelay: Duration?

  var text: String { path }

  func permits(_ url: ImageURL) throws(Failure) -> Bool {
    !url.text.dropFirst(url.origin.count).hasPrefix(path)
  }

  static let none = ClosedPath(path: "//")
  static let all = ClosedPath(path: "/")
}

extension WorkerMachine.Effect {
  /// What is done, and to which lease or transfer.
  var summary: String {
    switch self {
    case .send(let message): message.summary
    case .sendUncached: "send uncached"
    case .deliver(let result): "deliver \(result.lease.rawValue)"
    case .lookUp(let batch): "look up \(batch.items.map(\.lease.rawValue))"
    case .findOriginal(let order): "find original \(order.lease.rawValue)"
    case .findStale(let order): "find stale \(order.lease.rawValue)"
    case .renew(let order): "renew \(order.lease.rawValue)"
    case .put(let request):
      "put \(request.order.lease.rawValue) "
        + "[\(request.records.map(\.kind.summary).joined(separator: ", "))]"
        + (request.body.map { " of body \($0.rawValue)" } ?? "")
        + (request.extendsOriginal ? " beside the original" : "")
    case .storePartial(let transfer, _): "store partial \(transfer.rawValue)"
    case .removePartial(let name): "remove partial \(name.text)"
    case .sweep(let moment): "sweep \(moment.rawValue)"
    case .unpin(let jobs): "unpin \(jobs.map(\.rawValue))"
    case .readRobots(let url): "read robots \(url.origin)"
    case .fetchRobots(let url, let contact):
      "fetch robots \(url.origin)\(contact.map { " for \($0.text)" } ?? "")"
    case .storeRobots(_, let origin): "store robots \(origin)"
    case .startTransfer(let order): "start \(order.lease.rawValue)"
    case .setUrgent(let isUrgent, let transfer):
      "\(isUrgent ? "urgent" : "not urgent") \(transfer.rawValue)"
    case .followRedirect(let transfer, let wait):
      "follow \(transfer.rawValue)\(wait == .zero ? "" : " after \(wait)")"
    case .cancelTransfer(let transfer): "cancel transfer \(transfer.rawValue)"
    case .releaseBody(let transfer): "release body \(transfer.rawValue)"
    case .decode(let order, let source): "decode \(order.lease.rawValue) from \(source.summary)"
    case .cancelDecode(let lease): "cancel decode \(lease.rawValue)"
    case .makePreview(let order):
      "make preview of \(order.transfer.rawValue) for \(order.lease.rawValue)"
    case .sendPreview(let preview): "send preview \(preview.lease.rawValue)"
    case .stop: "stop"
    }
  }
}

extension DecodeSource {
  fileprivate var summary: String {
    switch self {
    case .body(let transfer): "body \(transfer.rawValue)"
    case .storedOriginal: "original"
    case .url: "url"
    case .upload(let byteCount): "upload of \(byteCount)"
    }
  }
}

extension WorkerMessage {
  fileprivate var summary: String {
    switch self {
    case .lookedUp: "looked up"
    case .hostUpdates: "host updates"
    case .redirected(let list): "redirected \(list.map(\.transfer.rawValue))"
    case .transferred(let leases): "transferred \(leases.map(\.rawValue))"
    case .released(let leases): "released \(leases.map(\.rawValue))"
    case .unpinned(let leases): "unpinned \(leases.map(\.rawValue))"
    case .finished(let list):
      "finished "
        + list.results.map { "\($0.lease.rawValue) \($0.outcome.summary)" }
        .joined(separator: ", ")
    case .progress(let entries):
      "progress " + entries.map(\.summary).joined(separator: ", ")
    case .hello, .ready, .refused, .uncached, .preview, .startDecoder, .endDecoder, .store,
      .sandboxed:
      "unexpected"
    }
  }
}

extension LeaseProgress {
  fileprivate var summary: String {
    let length = progress.expectedByteCount.map { " of \($0)" } ?? ""
    return "\(lease.rawValue) \(progress.receivedByteCount)\(length)"
  }
}

extension Outcome {
  fileprivate var summary: String {
    switch self {
    case .done(_, fromCache: true, _): "cached"
    case .done(_, fromCache: false, _): "done"
    case .failed(let failure, _): failure.code.rawValue
    case .cancelled: "cancelled"
    }
  }
}

extension NewRecord.Kind {
  fileprivate var summary: String {
    switch self {
    case .thumbnail(0): "thumbnail"
    case .thumbnail(let index): "thumbnail \(index)"
    case .original: "original"
    }
  }
}

extension Identifier: ExpressibleByIntegerLiteral {
  /// The thing of this number.
  public init(integerLiteral value: UInt64) {
    self.init(rawValue: value)
  }
}
