import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Pictures that their origins said are not there, and who asks for them again.
@Suite(.timeLimit(.minutes(20))) struct RememberedFailureTests {
  private static func answer(_ status: Int) -> Outcome {
    .failed(
      Failure(
        stage: .fetch, code: .httpStatus, httpStatus: status,
        detail: "the origin answered \(status)"))
  }

  /// A cluster that has asked for a picture once and was told this.
  private func cluster(
    _ answer: Outcome = answer(404), remembered: Duration = .seconds(600)
  ) -> ClusterModel {
    let cluster = ClusterModel.started(rememberFailures: remembered)
    cluster.answeringLookups { $0.view(url(1)) }
    cluster.finish(url(1), answer)
    return cluster
  }

  /// The failure that a request gets now; `nil` when the picture is being fetched.
  private func failure(_ cluster: ClusterModel, bypassesStore: Bool = false) -> Failure? {
    let viewer = cluster.answeringLookups { $0.view(url(1), bypassesStore: bypassesStore) }
    if case .failed(let failure, _) = cluster.answers[viewer] { return failure }
    return nil
  }

  @Test(arguments: [404, 410])
  func `a picture that is not there is not asked for again for a while`(status: Int) {
    let cluster = cluster(Self.answer(status))
    cluster.advance(by: .seconds(42))
    let failure = failure(cluster)
    #expect(failure?.httpStatus == status)
    #expect(failure?.isRetryable == false)
    let second = cluster.now.wall.advanced(by: .seconds(-42)).description.prefix(19)
    #expect(
      failure?.detail == "the origin answered \(status) at \(second)Z, and was not asked again")
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.isIdle)
    #expect(cluster.scheduler.fetches.sources.isEmpty)
  }

  @Test func `it is remembered for each line and in every size`() {
    let cluster = cluster()
    let job = cluster.submit([url(1), url(2), url(1)], variant: .small)
    #expect(cluster.finished().fetchStarts == [url(1), url(2)])
    #expect(cluster.counts(job)?.failed == 2)
    #expect(cluster.counts(job)?.done == 1)
  }

  @Test func `a request that waits for the facts of the same picture fails, too`() {
    let cluster = ClusterModel.started(perHost: 1)
    let viewers = [Keep.thumbnail, .facts].map { cluster.view(url(1), keep: $0) }
    cluster.answerLookups()
    #expect(cluster.fetchStarts.count == 1)
    cluster.finish(url(1), Self.answer(404))
    #expect(viewers.allSatisfy { cluster.answers[$0]?.failureCode == .httpStatus })
    #expect(cluster.fetchStarts.count == 1)
  }

  @Test(arguments: [400, 401, 403, 408, 425, 429, 500, 503])
  func `no other answer is remembered`(status: Int) {
    let cluster = cluster(Self.answer(status))
    #expect(failure(cluster) == nil)
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test(arguments: [
    Failure.Code.timeout, .dnsFailure, .connectFailure, .tlsFailure, .notAnImage, .tooLarge,
  ])
  func `no failure without an answer that says so is remembered`(code: Failure.Code) {
    let cluster = cluster(.failure(code))
    #expect(failure(cluster) == nil)
  }

  @Test func `what the store has is a hit all the same`() {
    let cluster = cluster()
    cluster.prestore([url(1)])
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    #expect(cluster.answers[viewer] == .cachedSample)
  }

  @Test func `when the time is over it is asked for again`() {
    let cluster = cluster(remembered: .seconds(10))
    cluster.advance(by: .milliseconds(9_999))
    #expect(failure(cluster) != nil)
    cluster.advance(by: .milliseconds(1))
    #expect(failure(cluster) == nil)
  }

  @Test func `with no time nothing is remembered`() {
    let cluster = cluster(remembered: .zero)
    #expect(failure(cluster) == nil)
    #expect(cluster.scheduler.fetches.sources.failures.count == 0)
  }

  @Test func `a retry of every failure asks once more, for all of its lines`() {
    let cluster = cluster()
    let job = cluster.submit([url(1), url(1)])
    cluster.finishEverything()
    cluster.fetchStarts = []
    #expect(cluster.change(job, .retry(includesFinal: true)))
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(1)])
    cluster.finish(url(1), Self.answer(410))
    #expect(cluster.finished().counts(job)?.failed == 2)
    // What was heard since counts for it, too.
    #expect(cluster.fetchStarts == [url(1)])
    #expect(failure(cluster)?.httpStatus == 410)
  }

  @Test func `a request that insists has it fetched, and a picture clears the memory`() {
    let cluster = cluster()
    #expect(failure(cluster, bypassesStore: true) == nil)
    #expect(cluster.fetchStarts == [url(1), url(1)])
    cluster.transferred(url(1))
    cluster.refuse(url(1))
    #expect(failure(cluster) == nil)
  }

  @Test func `while it is fetched for one, others are attached`() {
    let cluster = cluster()
    _ = failure(cluster, bypassesStore: true)
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    #expect(cluster.answers[viewer] == nil)
    #expect(cluster.attachedCount == 1)
  }

  @Test func `once it is forgotten it is asked for again`() {
    let cluster = cluster()
    cluster.handle(.failuresForgotten([url(2)]))
    #expect(failure(cluster) != nil)
    cluster.handle(.failuresForgotten([url(1), url(2)]))
    #expect(failure(cluster) == nil)
  }

  // MARK: - Crashes of decoders

  private static let crash = Outcome.failed(
    Failure(
      stage: .decode, code: .decodeCrash,
      detail: "the decoder was killed by signal 4 (SIGILL)"))

  @Test func `a picture that ended decoders is not tried again as the same thumbnail`() {
    let cluster = cluster(Self.crash)
    cluster.advance(by: .seconds(42))
    let failure = failure(cluster)
    #expect(failure?.code == .decodeCrash)
    let second = cluster.now.wall.advanced(by: .seconds(-42)).description.prefix(19)
    #expect(
      failure?.detail
        == "the decoder was killed by signal 4 (SIGILL) at \(second)Z, and the picture was not tried again"
    )
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.isIdle)
    cluster.answeringLookups { $0.view(url(1), variant: .small) }
    #expect(cluster.fetchStarts == [url(1), url(1)])
  }

  @Test func `it is remembered for the lines of jobs, until all failures are retried`() {
    let cluster = cluster(Self.crash)
    let job = cluster.submit([url(1), url(2)])
    #expect(cluster.finished().counts(job)?.failed == 1)
    #expect(cluster.fetchStarts == [url(1), url(2)])
    #expect(cluster.change(job, .retry(includesFinal: true)))
    #expect(cluster.finished().counts(job)?.done == 2)
    #expect(failure(cluster) == nil)
  }

  @Test func `a request that reloads or insists has it decoded again`() {
    let cluster = cluster(Self.crash)
    cluster.answeringLookups { $0.view(url(1), fetch: FetchOptions(cachePolicy: .reload)) }
    #expect(cluster.fetchStarts.count == 2)
    cluster.finish(url(1), Self.crash)
    #expect(failure(cluster, bypassesStore: true) == nil)
  }

  @Test func `when the time is over it is tried again, and once it is forgotten`() {
    let cluster = cluster(Self.crash, remembered: .seconds(10))
    cluster.advance(by: .seconds(10))
    #expect(failure(cluster) == nil)
    cluster.finish(url(1), Self.crash)
    #expect(failure(cluster) != nil)
    cluster.handle(.failuresForgotten([url(1)]))
    #expect(failure(cluster) == nil)
  }

  @Test func `an original that ended decoders is not decoded again`() {
    let cluster = ClusterModel.started()
    cluster.store.originals[url(1)] = Retention(after: .seconds(60))
    cluster.answeringLookups { $0.view(url(1)) }
    cluster.finish(url(1), Self.crash)
    #expect(failure(cluster)?.code == .decodeCrash)
  }

  @Test func `viewers of hosts whose pictures end decoders in a row are refused for a while`() {
    let cluster = ClusterModel.started()
    for number in 0..<CrashBudget.maximumCount {
      let one = url(number, host: "\(number).example.com")
      cluster.answeringLookups { $0.view(one) }
      cluster.finish(one, Self.crash)
      cluster.advance(by: .seconds(1))
    }
    let refused = cluster.view(url(100))
    let other = cluster.view(url(1, host: "other.example"))
    let job = cluster.submit([url(101)])
    cluster.finishEverything()
    guard case .failed(let failure, _) = cluster.answers[refused] else {
      Issue.record("the budget is not heeded")
      return
    }
    #expect(failure.code == .decodeCrash)
    #expect(failure.isRetryable)
    #expect(failure.retryAt != nil)
    #expect(cluster.answers[other]?.failureCode == nil)
    #expect(cluster.counts(job)?.done == 1)
    cluster.advance(by: CrashBudget.period)
    let later = cluster.view(url(100))
    #expect(cluster.finished().answers[later]?.failureCode == nil)
  }

  @Test func `the budgets of as many groups are kept as memory allows`() {
    var budget = CrashBudget()
    let now = Instant.now
    for number in 0...CrashBudget.maximumGroupCount {
      budget.note("\(number).example", at: now + .milliseconds(number))
    }
    #expect(budget.groupCount == CrashBudget.maximumGroupCount)
  }

  @Test func `beyond the bound the oldest are forgotten first`() {
    var memories = RememberedFailures(Limits())
    let now = Instant.now
    let failure = Failure(stage: .fetch, code: .httpStatus, httpStatus: 404, detail: "")
    func name(_ number: Int) -> RememberedFailures.Subject {
      .init(name: PictureName(text: url(number)))
    }
    let most = RememberedFailures.maximumCount
    var counts: [Int] = []
    // One that is heard of again is not old any more.
    for number in Array(0..<most) + [0, most] {
      _ = memories.remember(failure, of: name(number), at: now)
      counts.append(memories.count)
    }
    #expect(counts.suffix(3) == [most, most, most])
    #expect(memories.memory(of: name(1), at: now) == nil)
    #expect([0, 2, most].allSatisfy { memories.memory(of: name($0), at: now) != nil })
  }
}

@Suite struct SourceTableTests {
  private let now = Instant.now
  private var work = WorkTable()
  private var sources: SourceTable

  init() {
    var limits = Limits()
    limits.attempts = 3
    sources = SourceTable(limits, seed: 7)
  }

  private let failure = Failure(stage: .fetch, code: .timeout, detail: "")

  /// An item of the URL with this number.
  private mutating func item(_ number: Int, _ variant: Variant = .standard) throws -> WorkItem {
    let url = try ImageURL(line: url(number))
    let key = WorkItem.Key(name: PictureName(url), request: ThumbnailRequest(variant: variant))
    return work.add(WorkItem.Subject(key, url), Waiter(who: .revalidation, expiry: .standard))
  }

  private mutating func join(_ item: WorkItem) -> SourceID { sources.join(item.id, in: &work) }

  @Test mutating func `changed sources are taken once each, in the order of the changes`() throws {
    let ids = try (1...3).map { join(try item($0)) }
    for id in [ids[2], ids[0], ids[2], ids[1]] { sources.noteChange(of: id) }
    #expect(sources.takeChanged()?.id == ids[2])
    #expect(sources.takeChanged()?.id == ids[0])
    #expect(sources.takeChanged()?.id == ids[1])
    #expect(sources.takeChanged() == nil)
  }

  @Test mutating func `a source that has ended is not looked at`() throws {
    let item = try item(1)
    let id = join(item)
    sources.noteChange(of: id)
    _ = sources.remove(item.id, from: id)
    #expect(sources.takeChanged() == nil)
  }

  @Test mutating func `only the transfer that can be joined ends the joining`() throws {
    let id = join(try item(1))
    let transfer = TransferID(rawValue: 1)
    sources.setQueued(true, id)
    sources.begin(transfer, of: id)
    #expect(sources[id]?.joinable == transfer)
    #expect(sources[id]?.isQueued == false)
    sources.endJoining(TransferID(rawValue: 2), of: id)
    #expect(sources[id]?.joinable == transfer)
    #expect(sources.takeChanged() == nil)
    sources.endJoining(transfer, of: id)
    #expect(sources[id]?.joinable == nil)
    #expect(sources.takeChanged()?.id == id)
  }

  @Test mutating func `a retry that was due while nobody waited for it delays nothing`() throws {
    let id = join(try item(1))
    #expect(sources.mustWait(id, at: now) == false)
    _ = sources.scheduleRetry(of: id, after: failure, upTo: nil, at: now)
    let due = try #require(sources[id]?.retryAt)
    #expect(sources.mustWait(id, at: due - .milliseconds(1)) == true)
    #expect(sources[id]?.retryAt == due)
    #expect(sources.mustWait(id, at: due) == false)
    #expect(sources[id]?.retryAt == nil)
    #expect(sources.nextRetry == nil)
  }
}
