import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

extension ClusterModel {
  /// A cluster whose faults are those of the running test.
  convenience init(
    workers: Int = 1, transfers: Int = 64, perHost: Int = 8, ratePerMinute: Int = 0,
    attempts: Int = 1, backoff: Duration = Limits().backoff,
    rememberFailures: Duration = .seconds(600), offlineTimeout: Duration = Limits().offlineTimeout,
    credits: Credits = Credits(lookups: 256, leases: 128, decodeQueueTarget: 8)
  ) {
    self.init(
      workers: workers, transfers: transfers, perHost: perHost, ratePerMinute: ratePerMinute,
      attempts: attempts, backoff: backoff, rememberFailures: rememberFailures,
      offlineTimeout: offlineTimeout, credits: credits,
      report: { Issue.record("\($0)") })
  }

  /// A cluster with all workers ready.
  static func started(
    workers: Int = 1, transfers: Int = 64, perHost: Int = 8, ratePerMinute: Int = 0,
    attempts: Int = 1, backoff: Duration = Limits().backoff,
    rememberFailures: Duration = .seconds(600), offlineTimeout: Duration = Limits().offlineTimeout,
    credits: Credits = Credits(lookups: 256, leases: 128, decodeQueueTarget: 8),
    proxies: ProxySettings = .none
  ) -> ClusterModel {
    let cluster = ClusterModel(
      workers: workers, transfers: transfers, perHost: perHost, ratePerMinute: ratePerMinute,
      attempts: attempts, backoff: backoff, rememberFailures: rememberFailures,
      offlineTimeout: offlineTimeout, credits: credits, proxies: proxies,
      report: { Issue.record("\($0)") })
    cluster.handle(.began)
    return cluster
  }

  /// Makes a request, and answers the look-ups that it causes.
  @discardableResult
  func answeringLookups<Result>(_ request: (ClusterModel) -> Result) -> Result {
    defer { answerLookups() }
    return request(self)
  }

  /// The cluster when all that it has to do is done.
  func finished() -> ClusterModel {
    finishEverything()
    return self
  }

  /// Answers look-ups and ends fetches, the oldest first, until nothing runs.
  ///
  /// - Returns: the last parts of the paths whose transfers began meanwhile, as numbers.
  func startsUntilIdle() -> [Int] {
    fetchStarts = []
    answerLookups()
    while let url = fetching.first {
      finish(url)
      answerLookups()
    }
    return fetchStarts.compactMap(Self.number)
  }

  /// The number that ``url(_:host:)`` has written.
  static func number(of url: String) -> Int? {
    url.split(separator: "/").last.flatMap { Int($0) }
  }

  func changeLimits(
    transfers: Int? = nil, perHost: Int? = nil, ratePerMinute: Int? = nil,
    defaultExpiry: Duration? = nil
  ) {
    handle(
      .limitsChanged(
        LimitChange(
          transfers: transfers, transfersPerHost: perHost, hostRatePerMinute: ratePerMinute,
          defaultExpiry: defaultExpiry)))
  }

  /// How long the thumbnail of a URL is kept; `nil` when there is none.
  func retention(_ url: String) -> Retention? {
    store.thumbnails[StoreModel.Key(url: url, variant: .standard)]
  }

  /// Puts thumbnails into the store that were there before.
  func prestore(_ urls: [String]) {
    for url in urls {
      store.thumbnails[StoreModel.Key(url: url, variant: .standard)] =
        Retention(after: .milliseconds(1))
    }
  }

  func outcome(of index: Int, _ job: JobID) -> Outcome? {
    journal.jobs[job]?.outcomes[index]?.outcome
  }

  /// The one worker of a cluster of one.
  var onlyWorker: WorkerID? { workers.keys.first }
}

extension Variant {
  static let small = Variant.square(32)
  static let medium = Variant.square(64)

  private static func square(_ side: Int) -> Variant {
    (try? Variant(ImageVariant(width: side, height: side))) ?? .standard
  }
}
