import ImgModel
import ImgWire

/// Pictures that a client fetches by itself, with a network layer of its own, for all that wait for them.
///
/// A viewer may offer that its client fetches. If the store lacks the picture and no transfer is under way, its client
/// is asked, and the items of the source wait for it in place of a transfer. What it brings is decoded for each of
/// them, as an upload is. A client that fails, leaves, or takes too long ends its own request alone: the next client
/// that offers is asked, or a worker fetches.
///
/// The limits and pauses of hosts are for the requests of workers. Items that respect robots, or limit redirects, need a
/// transfer, which then serves the others, too, see ``WorkItem/takesClientFetches``.
extension Scheduler {
  /// Whether a client fetches for a source, or is asked to now. If one of its items takes no part in that, a worker fetches
  /// for all of them.
  mutating func isFetchedByClient(_ source: Source, for waiting: [WorkItem]) -> Bool {
    let fetcher = clientFetches.fetcher(of: source.id)
    guard !isDraining, waiting.allSatisfy(\.takesClientFetches) else {
      fetcher.map { _ = clientFetches.end($0) }
      return false
    }
    guard fetcher == nil else { return true }
    guard clientFetches.hasRoom,
      let viewer = waiting.lazy.flatMap(\.waiters).filter(\.offersFetch).compactMap(\.viewer).min()
    else { return false }
    let time = limits.transferTimeout
    clientFetches.begin(viewer, for: source.id, until: now.instant + time)
    effects.append(.askToFetch(viewer, within: time))
    return true
  }

  mutating func viewerFetched(_ viewer: ViewerID, _ body: FetchedBody) {
    if fileReads.contains(viewer) { return fileRead(by: viewer, body) }
    guard let id = clientFetches.end(viewer), let source = fetches.sources[id] else {
      return effects.append(.release(body.file))
    }
    if let failure = lengthFailure(of: body) {
      effects.append(.release(body.file))
      return endWait(of: viewer, with: failure)
    }
    let served = waitingItems(of: source).filter(\.takesClientFetches)
    guard !served.isEmpty else { return effects.append(.release(body.file)) }
    for item in served {
      clientFetches.use(body.file)
      work.change(item.id) { $0.body = body }
    }
    for item in served { awaitDecode(item.id) }
    fetches.sources.noteChange(of: id)
  }

  private func lengthFailure(of body: FetchedBody) -> Failure? {
    let byteCount = body.picture.byteCount
    guard byteCount > limits.maxBodyByteCount else { return nil }
    return Failure(
      stage: .fetch, code: .tooLarge,
      detail: "\(byteCount) bytes; \(limits.maxBodyByteCount) are the most")
  }

  mutating func viewerFailedToFetch(_ viewer: ViewerID, _ failure: Failure) {
    if fileReads.contains(viewer) {
      if let item = fileReads.answered(viewer) { fail([(item, failure)]) }
      return
    }
    guard clientFetches.source(fetchedBy: viewer) != nil else { return }
    endWait(of: viewer, with: failure)
  }

  /// Clients that take too long are waited for no more.
  mutating func endClientFetches() {
    while let viewer = clientFetches.overdueFetcher(at: now.instant) {
      endWait(
        of: viewer,
        with: Failure(
          stage: .fetch, code: .timeout,
          detail: "the client was to fetch the picture, and took longer than "
            + "\(limits.transferTimeout.components.seconds) s"))
    }
  }

  /// The viewer is told a failure. What it was to fetch is fetched otherwise for the others.
  private mutating func endWait(of viewer: ViewerID, with failure: Failure) {
    viewerLeft(viewer)
    effects.append(.answer(viewer, .failed(failure), nil))
  }

  /// A viewer has its answer, or has left: its client fetches no more.
  mutating func endClientFetch(by viewer: ViewerID) {
    if let source = clientFetches.end(viewer) { fetches.sources.noteChange(of: source) }
  }
}

/// Local files that clients read with the rights of their users, for lines of jobs.
///
/// A line whose picture the store lacks waits for a reader of its job. What that has read is decoded as an upload is.
/// Few files are read at a time, because each takes up memory until it is decoded. Without a reader the lines wait,
/// and the job goes on with its other lines.
extension Scheduler {
  mutating func readerArrived(_ reader: ViewerID, for job: JobID) {
    guard !isDraining, jobs[job] != nil else { return effects.append(.readingEnded(reader)) }
    fileReads.add(reader, for: job)
  }

  /// The store lacks the picture of a file. Only jobs have readers.
  mutating func awaitFile(_ id: WorkID) {
    guard !work.item(id).isOfNoJob else { return fail([(id, Self.unreadFile)]) }
    jobs.assignStartTags(to: id, in: &work)
    guard wait(id, in: .awaitingFile) else { return }
    guard !isCrowded(work.item(id)) else { return sendBack(id) }
    fileReads.wait(id)
  }

  private static var unreadFile: Failure {
    Failure(
      stage: .fetch, code: .unreadableFile,
      detail: "only the command that submits it reads the file: imgctl submit PATH")
  }

  /// Files that are read at a time, or wait for a decoder: enough to keep the decoders busy, within the coordinator's
  /// memory.
  private var fileReadMaximum: Int { min(2 * limits.workers + 2, Self.fileReadLimit) }
  package static var fileReadLimit: Int { 32 }

  /// Asks readers for the files of the most urgent lines. Ends those whose jobs need none any more.
  mutating func dispatchFileReads() {
    for (reader, job) in fileReads.idle {
      if jobs[job]?.needsNoFile ?? true {
        fileReads.remove(reader)
        effects.append(.readingEnded(reader))
      } else if fileReads.begunCount < fileReadMaximum, let item = nextFile(of: job) {
        let time = limits.transferTimeout
        fileReads.begin(item.id, by: reader, until: now.instant + time)
        let file = WantedFile(url: item.url.text, maximumByteCount: limits.maxBodyByteCount)
        effects.append(.askToRead(reader, file, within: time))
      }
    }
  }

  private func nextFile(of job: JobID) -> WorkItem? {
    let waiting = fileReads.waitingItems.compactMap { work[$0] }
    return waiting.filter { $0.jobs.contains(job) }.min { $0.urgency < $1.urgency }
  }

  private mutating func fileRead(by reader: ViewerID, _ body: FetchedBody) {
    guard let id = fileReads.answered(reader) else { return effects.append(.release(body.file)) }
    if let failure = lengthFailure(of: body) {
      effects.append(.release(body.file))
      return fail([(id, failure)])
    }
    clientFetches.use(body.file)
    work.change(id) { $0.body = body }
    awaitDecode(id)
  }

  /// Readers that take too long are waited for no more.
  mutating func endFileReads() {
    while let item = fileReads.takeOverdue(at: now.instant) {
      let failure = Failure(
        stage: .fetch, code: .timeout, isRetryable: true,
        detail: "reading the file took longer than \(limits.transferTimeout.components.seconds) s")
      fail([(item, failure)])
    }
  }

  /// Whether a job waits for files alone, and no client reads them.
  func lacksReader(_ job: ActiveJob) -> Bool {
    job.waitsForFilesAlone && !fileReads.hasReader(of: job.id)
  }
}

extension Failure {
  /// Of a line that names a file for the command, in a job that no command has submitted.
  static var foreignFile: Failure {
    Failure(
      stage: .queue, code: .blockedPath,
      detail: "only imgctl submit names files by such a URL")
  }
}
