package import ImgModel
package import ImgWire

/// What a worker does with its leases. Pure: events in, effects out, time passed in. It has no
/// clock, descriptor or thread, and sees no image bytes.
///
/// A lease's way through it, by its ``FetchTask/Stage``. First where each message of the coordinator
/// brings it:
///
///     fetch ──────────► transferring
///     attach ─────────► transferring      its URL is being fetched
///                       decoding          the body is in
///                       findingOriginal   the transfer is over
///                       waitingForRobots  then one of these
///     decode ─────────► decoding          a `data:` or `file:` URL
///                       findingOriginal   any other URL
///     decode_upload ──► decoding
///
/// Then what follows each stage:
///
///     transferring ────► decoding | revalidating (304) | failing
///     findingOriginal ─► decoding
///     revalidating ────► renewing ─► finished
///                        decoding, of the original
///     decoding ────────► storing ──► finished
///                                    delivering, if the store refuses the thumbnail
///                        delivering, if it is not to be stored ─► uncached
///                        finished, if it fails
///     failing ─────────► finished, with the failure or a stale thumbnail
///
/// A lease whose body or original is missing is released at any of these stages: the coordinator
/// requeues it.
package struct WorkerMachine {
  var tasks = FetchTasks()
  var transfers = SharedTransfers()
  var robots = RobotsCache()
  var arrivals = Arrivals()
  /// The leases of transfers that failed and left a partial body. They are told when the store has it, so
  /// that the next attempt, in whichever worker, finds it.
  var leasesOfBrokenTransfers: [TransferID: [LeaseID]] = [:]
  var report = WorkerReport()
  /// Whether a preview is being made.
  var isPreviewUnderWay = false
  /// When a turn reports the progress of bodies; `nil` while nothing is new.
  package internal(set) var progressDeadline: Instant?
  /// When transfers are measured next; `nil` before the first one.
  var nextMeasure: Instant?
  private var isDraining = false
  /// The largest original that `Keep.auto` keeps.
  let autoOriginalByteCount: Int

  /// The moment of the event being handled.
  private(set) var now: Moment
  /// The effects of the event being handled.
  var effects: [Effect] = []

  /// - Parameter autoOriginalByteCount: the largest original that `Keep.auto` keeps.
  package init(at now: Moment, autoOriginalByteCount: Int = 0) {
    self.now = now
    self.autoOriginalByteCount = autoOriginalByteCount
  }

  /// The leases that have no result yet.
  package var leaseCount: Int { tasks.count }

  /// Whether the next `turnEnded` has something to tell the coordinator.
  package var hasReport: Bool { !report.isEmpty }

  /// Whether the next `turnEnded` may be left out, for a few milliseconds: what it would tell the
  /// coordinator are results for lists only, while others are on their way. They share a message.
  package var mayReportLater: Bool {
    report.mayWait && !isProgressDue && !tasks.isEmpty && !isDraining
  }

  /// Takes in what happened and says what to do about it.
  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    self.now = now
    switch event {
    case .received(let message): receive(message)
    case .clientFetched(let upload, let reuse): decodeUpload(upload, reuse)

    case .lookedUp(let results): effects.append(.send(.lookedUp(results)))
    case .originalFound(let lease, let isThere): originalFound(lease, isThere)
    case .staleFound(let lease, let thumbnail): staleFound(lease, thumbnail)
    case .renewalFound(let lease, let finding): renewalFound(lease, finding)
    case .stored(let lease, let end): stored(lease, end)
    case .unpinned(let leases): unpinned(leases)
    case .storeReported(let report): effects.append(.send(.store(report)))
    case .partialStored(let transfer): partialStored(transfer)

    case .robotsRead(let url, let known): robotsRead(of: url, known)
    case .robotsFetched(let origin, let answer, let sign): robotsFetched(origin, answer, sign)
    case .robotsStored(let origin, let isStored): robotsStored(origin, isStored)
    case .storeReplaced: storeReplaced()

    case .redirected(let transfer, let url): redirected(transfer, to: url)
    case .transferEnded(let transfer, let end): transferEnded(transfer, end)

    case .decoded(let lease, let end, let time): decoded(lease, end, after: time)

    case .bodyGrew(let transfer, let progress): bodyGrew(transfer, to: progress)
    case .previewed(let order, let end): previewed(order, end)
    case .measured(let measures): updatePaces(measures)

    case .uncachedSent(let lease): remove(lease)
    case .uncachedFailed(let lease, let detail): uncachedFailed(lease, detail)

    case .turnEnded(let updates, let decodeQueueCount):
      reportProgress()
      effects += report.take(adding: updates, decodeQueueCount: decodeQueueCount)
    }
    if isDraining, tasks.isEmpty, report.isEmpty { effects.append(.stop) }
    let produced = effects
    effects = []
    return produced
  }

  private mutating func receive(_ message: CoordinatorMessage) {
    switch message {
    case .lookup(let batch): effects.append(.lookUp(batch))
    case .fetch(let batch): startTransfers(for: batch)
    case .attach(let batch): attachAll(of: batch)
    case .decode(let batch): decodeAll(of: batch)
    case .decodeUpload(let upload): decodeUpload(upload)
    case .followRedirects(let transfers): transfers.forEach { slotGranted($0) }
    case .updates(let lease, let updates): want(updates, of: lease)
    case .cancel(let leases): leases.forEach { cancel($0) }
    case .sweep(let moment): effects.append(.sweep(moment))
    case .unpin(let jobs): effects.append(.unpin(jobs))
    case .drain: isDraining = true
    // The driver's.
    case .welcome, .decoderExited, .dropConnections: break
    }
  }

  // MARK: - The end of a lease

  /// The lease has its result.
  ///
  /// - Parameters:
  ///   - failureBehind: what its transfer failed with, if the outcome is from the store.
  ///   - isStoreDegraded: whether it failed because the store takes nothing at present.
  ///   - sign: what its transfer says of the network.
  mutating func finish(
    _ lease: LeaseID, with outcome: Outcome, wasRedirected: Bool = false,
    failureBehind: Failure? = nil, isStoreDegraded: Bool = false, sign: NetworkSign? = nil
  ) {
    let task = remove(lease)
    // What took its time with a picture from the cache was another request's.
    if task.order.isUrgent { report.hasUrgentResult = true }
    let isTimed = if case .done(_, fromCache: true, _) = outcome { false } else { true }
    report.finished.append(
      FetchResults.Result(
        lease: lease, outcome: outcome.fetched(task.bytesFetched), wasRedirected: wasRedirected,
        timings: isTimed && task.timings != Timings() ? task.timings : nil,
        failureBehind: failureBehind, isStoreDegraded: isStoreDegraded, sign: sign))
  }

  /// The lease ends without a result, because the body that it needs is not there.
  mutating func release(_ lease: LeaseID) {
    remove(lease)
    report.released.append(lease)
  }

  @discardableResult
  mutating func remove(_ lease: LeaseID) -> FetchTask {
    detach(lease)
    return tasks.remove(lease)
  }

  /// The lease no longer needs the body of its transfer, if it is attached to one. The last lease
  /// that needs the body releases it.
  mutating func detach(_ lease: LeaseID) {
    if let transfer = transfers.detach(lease) { effects.append(.releaseBody(transfer)) }
  }
}

/// What one turn of the worker's loop has to tell the coordinator: one message of each kind, however
/// many leases ended.
struct WorkerReport {
  var extraRequests: [String] = []
  var robotsKnown: [LeaseID] = []
  var robotsFetched: [RobotsFetch] = []
  var slow: [TransferID] = []
  var fast: [TransferID] = []
  var held: [HeldTransfer] = []
  var phases: [PhasedTransfer] = []
  var crawlDelays: [CrawlDelay] = []
  var redirections: [Redirection] = []
  var progress: [LeaseProgress] = []
  var transferred: [LeaseID] = []
  var released: [LeaseID] = []
  var unpinned: [LeaseID] = []
  var finished: [FetchResults.Result] = []

  var isEmpty: Bool {
    saysNothingOfTransfers && saysNothingOfEndedTransfers && finished.isEmpty
  }

  /// Whether it says only what may wait a little: results that no client waits for.
  var mayWait: Bool {
    saysNothingOfTransfers && saysNothingOfEndedTransfers && !hasUrgentResult
      && finished.count < Self.resultsPerFrame
  }

  private var saysNothingOfTransfers: Bool {
    extraRequests.isEmpty && robotsKnown.isEmpty && robotsFetched.isEmpty && slow.isEmpty
      && fast.isEmpty
      && held.isEmpty && phases.isEmpty && crawlDelays.isEmpty && redirections.isEmpty
      && progress.isEmpty
  }

  private var saysNothingOfEndedTransfers: Bool {
    transferred.isEmpty && released.isEmpty && unpinned.isEmpty
  }

  /// Whether a client waits for one of the results.
  var hasUrgentResult = false

  /// A result takes at most about 3 KiB of JSON.
  private static let resultsPerFrame = 256

  /// The messages of the turn. The report is empty afterwards.
  ///
  /// - Parameter updates: what the transfers signalled of hosts. It is sent first, so that the
  ///   coordinator knows it when it gives out the slots that the other messages free.
  mutating func take(
    adding updates: HostUpdates, decodeQueueCount: Int
  ) -> [WorkerMachine.Effect] {
    var effects: [WorkerMachine.Effect] = []
    var updates = updates
    updates.extraRequests = extraRequests + updates.extraRequests
    updates.robotsKnown += robotsKnown
    updates.robotsFetched += robotsFetched
    updates.slow += slow
    updates.fast += fast
    updates.held += held
    updates.phases += phases
    updates.crawlDelays += crawlDelays
    if !updates.isEmpty { effects.append(.send(.hostUpdates(updates))) }
    if !redirections.isEmpty { effects.append(.send(.redirected(redirections))) }
    if !progress.isEmpty { effects.append(.send(.progress(progress))) }
    if !transferred.isEmpty { effects.append(.send(.transferred(transferred))) }
    effects.append(.sendUncached)
    if !released.isEmpty { effects.append(.send(.released(released))) }
    if !unpinned.isEmpty { effects.append(.send(.unpinned(unpinned))) }
    // Many may fail at once, each with a long sentence: in parts that fit a frame.
    for start in stride(from: 0, to: finished.count, by: Self.resultsPerFrame) {
      let part = Array(finished[start...].prefix(Self.resultsPerFrame))
      effects.append(
        .send(.finished(FetchResults(results: part, decodeQueueCount: decodeQueueCount))))
    }
    self = WorkerReport()
    return effects
  }
}

extension WorkerMachine {
  /// What the driver does next. It performs the effects of one event in their order.
  package enum Effect: Sendable {
    case send(WorkerMessage)
    /// Send the uncached results that wait, as far as the coordinator keeps up with their files.
    case sendUncached
    /// Queue a result for ``sendUncached``. The bytes of its thumbnail came with the event.
    case deliver(UncachedResult)

    /// Look the batch up in the store; answered by one `lookedUp`.
    case lookUp(Batch)
    /// Find out whether the store has an original that the order accepts.
    case findOriginal(FetchOrder)
    /// Find a stale thumbnail that may be used after an error, and keep it for longer. If the order pins it,
    /// the answer follows once it is pinned.
    case findStale(FetchOrder)
    /// Renew the records of the order, if their validators are those that the origin confirmed in the
    /// event.
    case renew(FetchOrder)
    case put(StoreRequest)
    /// Store the partial body that the transfer left.
    case storePartial(TransferID, of: PictureName)
    /// Remove the partial body, which the origin no longer continues. Nothing waits for it.
    case removePartial(of: PictureName)
    /// Remove what has expired at this moment. Nothing waits for it.
    case sweep(WallTime)
    /// Remove the pins of these jobs. Nothing waits for it.
    case unpin([JobID])

    /// Read the robots.txt rules of the URL's origin from the store.
    case readRobots(of: ImageURL)
    /// Fetch the robots.txt of the URL's origin.
    ///
    /// - contact: see `FetchOptions.contact`.
    case fetchRobots(of: ImageURL, contact: Contact?)
    case storeRobots(KnownRobots, origin: String)

    /// Start the transfer that is named by the order's lease. It may continue a partial body, or ask
    /// whether stored records still match.
    case startTransfer(FetchOrder)
    /// A client waits for the transfer from now on, or no more.
    case setUrgent(Bool, TransferID)
    /// - excluding: how long it waited for a slot, which does not count as its time.
    case followRedirect(TransferID, excluding: Duration)
    case cancelTransfer(TransferID)
    /// Free the body, or the partial body, that the transfer left.
    case releaseBody(TransferID)

    case decode(FetchOrder, from: DecodeSource)
    /// Skip the decode if it has not begun. A `decoded` event follows in any case.
    case cancelDecode(LeaseID)

    /// Make a preview of what has arrived, on a decoder that is idle. A `previewed` event follows in any
    /// case.
    case makePreview(PreviewOrder)
    /// Send the preview, unless the coordinator does not keep up with files. Its bytes came with the
    /// event.
    case sendPreview(MadePreview)

    /// Everything is done: exit.
    case stop
  }
}

/// Where the decoder finds a picture.
package enum DecodeSource: Hashable, Sendable {
  /// The body that this transfer received.
  case body(TransferID)
  /// The original in the store.
  case storedOriginal
  /// The URL itself: the picture that it holds, or the file that it names.
  case url
  /// The file that came beside the upload.
  case upload(byteCount: Int)
}

extension WorkerMachine {
  /// What happened outside of the machine. Bytes and descriptors stay with the driver: an event
  /// names them by their lease or their transfer.
  package enum Event: Sendable {
    /// The coordinator sent a message. The file beside an upload stays with the driver.
    case received(CoordinatorMessage)
    /// The coordinator sent an upload that a client has fetched from its URL, with what the origin says of its reuse.
    case clientFetched(Upload, AnswerReuse)

    /// The answer to ``Effect/lookUp(_:)``.
    case lookedUp(LookupResults)
    /// The answer to ``Effect/findOriginal(_:)``: whether the store has one.
    case originalFound(LeaseID, Bool)
    /// The answer to ``Effect/findStale(_:)``; `nil` if the store has none that may be used.
    case staleFound(LeaseID, Thumbnail?)
    /// The answer to ``Effect/renew(_:)``.
    case renewalFound(LeaseID, RenewalFinding)
    /// The end of an ``Effect/put(_:)`` or of a renewal.
    case stored(LeaseID, StoreEnd)
    /// The end of look-ups, and of an ``Effect/findStale(_:)``, ``Effect/put(_:)`` or renewal: the store has
    /// the pictures, but no room to pin them.
    case unpinned([LeaseID])
    /// The answer to ``Effect/sweep(_:)`` and ``Effect/unpin(_:)``.
    case storeReported(StoreReport)
    /// The end of an ``Effect/storePartial(_:of:)``, stored or not.
    case partialStored(TransferID)

    /// The answer to ``Effect/readRobots(of:)``; `nil` if the store has no rules.
    case robotsRead(of: ImageURL, KnownRobots?)
    /// The answer to ``Effect/fetchRobots(of:contact:)``.
    ///
    /// - sign: what its transfer says of the network.
    case robotsFetched(origin: String, RobotsAnswer, sign: NetworkSign? = nil)
    /// The end of an ``Effect/storeRobots(_:origin:)``.
    case robotsStored(origin: String, isStored: Bool = true)
    /// Another store is in the place of the one that was there: a user has emptied it.
    case storeReplaced

    /// The transfer waits at a redirect for ``Effect/followRedirect(_:excluding:)`` or
    /// ``Effect/cancelTransfer(_:)``.
    case redirected(TransferID, ImageURL)
    /// The driver holds what the transfer left, a body or a part of one, until
    /// ``Effect/releaseBody(_:)``.
    case transferEnded(TransferID, TransferEnd)

    /// The end of an ``Effect/decode(_:from:)``.
    ///
    /// - time: what the decoder took; `nil` if nothing was decoded.
    case decoded(LeaseID, DecodeEnd, time: Duration?)

    /// So much of a body has arrived, of one of ``watchedTransfers``.
    case bodyGrew(TransferID, to: ImageProgress)
    /// The end of an ``Effect/makePreview(_:)``.
    case previewed(PreviewOrder, PreviewEnd)

    /// How much has arrived of transfers of ``transfersWithSlots``. None has arrived of those that are
    /// missing.
    case measured([TransferID: TransferMeasure])

    /// An uncached result was sent.
    case uncachedSent(LeaseID)
    /// An uncached result cannot be sent: there is no file for it.
    case uncachedFailed(LeaseID, detail: String)

    /// The driver's loop has handled all that was ready.
    ///
    /// - updates: what the transfers signalled of hosts since the last turn.
    /// - decodeQueueCount: pictures that wait for the decoder.
    case turnEnded(HostUpdates, decodeQueueCount: Int)
  }
}

/// What the store has of a lease whose origin answered 304.
package enum RenewalFinding: Hashable, Sendable {
  /// No record with the validators that the origin confirmed.
  case unmatched
  /// The records are being renewed; a `stored` event follows.
  case thumbnail(Thumbnail)
  /// The original is being renewed on these terms. The thumbnail is made from it meanwhile.
  case original(ReuseTerms)
}

/// What became of a `put` or a renewal.
package enum StoreEnd: Hashable, Sendable {
  case stored
  /// The driver holds the thumbnail.
  case refused(StoreRefusal)
  /// A record to be renewed or extended is no longer there.
  case missing
  /// There was nothing to store, because the body cannot be read.
  case failed(Failure)
}

/// Why the store does not have a thumbnail.
package struct StoreRefusal: Hashable, Sendable {
  package let failure: Failure
  /// Whether the store takes nothing at present, rather than refusing this thumbnail.
  package let isStoreDegraded: Bool

  package init(failure: Failure, isStoreDegraded: Bool) {
    self.failure = failure
    self.isStoreDegraded = isStoreDegraded
  }
}
