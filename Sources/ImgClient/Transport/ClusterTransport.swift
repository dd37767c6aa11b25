import FoundationEssentials
public import ImgFacts
public import ImgModel
package import ImgSettings
import ImgStore
import ImgSystem
import ImgWire
import Synchronization

/// Loads thumbnails by the cluster of this machine.
///
/// A hit is read from the memory-mapped store of the cluster, without its coordinator. Everything else goes
/// over one connection to the coordinator, which all loads share. It is made when the first load needs it,
/// or when something is kept in memory while a coordinator runs, and again when it is lost.
public final class ClusterTransport: BoundedTransport {
  let places: ClusterPlaces
  /// What fetches in place of the cluster; `nil` for none.
  private let fetching: (any ImageFetching)?
  /// Makes a connection; blocks.
  let connect: @Sendable () throws(ClientError) -> Client
  /// The connection that loads and requests about jobs share.
  let session: CoordinatorSession
  /// Further decodes of this process wait. The coordinator refuses more than a few from all processes.
  let decodes = ConcurrencyLimit(8)
  /// Further lists of this process wait. Each takes a thread and a connection.
  let submissions = ConcurrencyLimit(8)
  /// `nil` until the store exists.
  private let openReader = Mutex<StoreReader?>(nil)

  /// Uses the cluster at some places. It is not asked before the first load.
  ///
  /// - Throws: ``ImageError/Code/internal`` if the process has no descriptors or threads left.
  public convenience init(_ configuration: ClusterConfiguration = .standard) throws(ImageError) {
    let places = try ClusterPlaces(configuration)
    try self.init(places) { () throws(ClientError) in try places.connect() }
  }

  /// Uses the cluster at some places, and the network layer of this app.
  ///
  /// - Parameter fetching: fetches pictures in place of the cluster, see ``ImageFetching``.
  /// - Throws: ``ImageError/Code/internal`` if the process has no descriptors or threads left.
  public convenience init(
    _ configuration: ClusterConfiguration = .standard, fetching: any ImageFetching
  ) throws(ImageError) {
    let places = try ClusterPlaces(configuration)
    try self.init(places, fetching: fetching) { () throws(ClientError) in try places.connect() }
  }

  /// - Parameters:
  ///   - fetching: fetches pictures in place of the cluster; `nil` for none.
  ///   - connect: makes a connection to the coordinator; may block.
  init(
    _ places: ClusterPlaces, fetching: (any ImageFetching)? = nil,
    connect: @escaping @Sendable () throws(ClientError) -> Client
  ) throws(ImageError) {
    self.places = places
    self.fetching = fetching
    self.connect = connect
    session = try rethrowing(
      try CoordinatorSession(
        memoryByteCount: places.memoryBudgetByteCount, connect: connect,
        connectIfRunning: { () throws(ClientError) in try places.connectIfRunning() })
    ) { (error: SystemError) in
      ImageError(code: .internal, isRetryable: true, message: "\(error)")
    }
  }

  /// Reads a hit from the store. A request with a delay has to wait, so it has none.
  public func storedImage(for request: ImageRequest) throws(ImageError) -> LoadedImage? {
    try storedImage(for: request, bytesUpTo: .max)
  }

  package func storedImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) throws(ImageError) -> LoadedImage? {
    guard request.delay == .zero, request.cachePolicy != .bypass else { return nil }
    let asked = try ClusterRequest(request)
    // Whatever is wrong with the store, the cluster may be able to answer.
    let hit = try? openedReader()?.hit(
      for: asked.url, asked.options, at: .now, bytesUpTo: maximumByteCount)
    return hit.map { LoadedImage($0, origin: .store) }
  }

  /// Loads a thumbnail by a worker of the cluster.
  public func loadImage(
    for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage {
    try await loadImage(for: request, bytesUpTo: .max, onUpdate: onUpdate)
  }

  package func loadImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int
  ) async throws(ImageError) -> LoadedImage {
    try await loadImage(for: request, bytesUpTo: maximumByteCount, onUpdate: nil)
  }

  private func loadImage(
    for request: ImageRequest, bytesUpTo maximumByteCount: Int,
    onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage {
    // Checks the request before it waits. The delay is over in this process, so that it takes none of the
    // places of requests that wait for the coordinator.
    _ = try ClusterRequest(request)
    return try await load(
      ClusterRequest(request.undelayed), of: request, bytesUpTo: maximumByteCount, onUpdate)
  }

  /// Loads what is asked for after the delay of the request.
  private func load(
    _ asked: ClusterRequest, of request: ImageRequest, bytesUpTo maximumByteCount: Int,
    _ onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage {
    try await Deadline.waitForDelay(of: request)
    let deadline = request.timeout.map { ContinuousClock.now + $0 }
    for _ in 0..<Self.maximumReadCount {
      let image = try await load(
        asked, as: request, until: deadline, bytesUpTo: maximumByteCount, onUpdate)
      if let image { return image }
    }
    throw ImageError(Failure.isGone, url: request.url)
  }

  /// A load asks so often. What a worker has stored may be evicted before it is read.
  private static let maximumReadCount = 3

  /// - Returns: `nil` if the thumbnail was removed from the store before it was read.
  func load(
    _ asked: ClusterRequest, as request: ImageRequest,
    until deadline: ContinuousClock.Instant? = nil, bytesUpTo maximumByteCount: Int = .max,
    _ onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) async throws(ImageError) -> LoadedImage? {
    let askedAt = WallTime.now
    let result: GetResult
    do throws(SessionError) {
      result = try await session.answer(
        .load(
          asked, maximumRetryAfter: request.maximumRetryAfter ?? request.timeout,
          isObserved: onUpdate != nil, offersFetch: fetching != nil),
        until: deadline, fetchingBy: fetch(asked, as: request), onUpdate: onUpdate.map(Self.updates)
      )
    } catch {
      throw ImageError(error, url: request.url, timeout: request.timeout)
    }
    switch result.outcome {
    case .cancelled: throw .cancelled(request.url)
    case .failed(let failure, _): throw places.advised(ImageError(failure, url: request.url))
    case .done(let thumbnail, let isFromCache, _):
      if let made = result.uncached { return LoadedImage(made) }
      let origin = isFromCache ? LoadedImage.Origin.store : .network
      // Above the maximum, there is nothing to copy.
      if thumbnail.byteCount <= Self.quickCopyByteCount || thumbnail.byteCount > maximumByteCount {
        return try stored(
          asked, as: request, at: askedAt, from: origin, bytesUpTo: maximumByteCount)
      }
      return try await BlockingCall.run(about: request.url) {
        try self.stored(asked, as: request, at: askedAt, from: origin)
      }
    }
  }

  /// What fetches the picture if the coordinator asks for it; `nil` if the cluster does.
  private func fetch(
    _ asked: ClusterRequest, as request: ImageRequest
  ) -> (@Sendable (FetchWanted) async -> BroughtPicture)? {
    guard let fetching else { return nil }
    return { wanted in
      let fetch = ImageFetch(
        url: asked.url.text, cachePolicy: request.cachePolicy, headers: request.headers,
        timeout: min(wanted.limit, request.timeout ?? wanted.limit))
      return await fetching.bring(fetch)
    }
  }

  package func wholeImage(
    _ image: LoadedImage, for request: ImageRequest
  ) throws(ImageError) -> LoadedImage? {
    guard let storedAt = image.storedAt else { return nil }
    return try stored(
      ClusterRequest(request.undelayed), as: request, at: WallTime(storedAt), from: image.origin)
  }

  /// More bytes are not copied by the task, because its executor may have other work that should not wait for it.
  private static let quickCopyByteCount = 1 << 20

  /// Hands on what a load is told before its answer.
  private static func updates(
    _ onUpdate: @escaping @Sendable (ImageUpdate) -> Void
  ) -> @Sendable (ReceivedReply) -> Void {
    { reply in
      switch reply.message {
      case .progress(_, let progress):
        onUpdate(.progress(progress))
      case .preview(_, let number, let thumbnail):
        // A preview that cannot be read is as good as none: the thumbnail follows.
        guard let bytes = try? reply.bytes() else { return }
        onUpdate(.preview(ImagePreview(number: number, thumbnail: thumbnail, bytes: bytes)))
      default: break
      }
    }
  }

  /// The thumbnail that the cluster has just stored.
  ///
  /// - Parameters:
  ///   - moment: that of the request, so that a very short expiry does not hide the thumbnail.
  ///   - maximumByteCount: a longer thumbnail has no bytes, and costs no copy.
  /// - Returns: `nil` if it was removed since.
  func stored(
    _ asked: ClusterRequest, as request: ImageRequest, at moment: WallTime,
    from origin: LoadedImage.Origin, bytesUpTo maximumByteCount: Int = .max
  ) throws(ImageError) -> LoadedImage? {
    let found = try rethrowing(
      try openedReader()?.result(
        of: asked.name, for: asked.options.request, at: moment, bytesUpTo: maximumByteCount,
        recordingAccess: .none)
    ) { (error: StoreError) in ImageError(error, url: request.url) }
    return found.map { LoadedImage($0, origin: origin) }
  }

  /// - Returns: `nil` if there is no store yet.
  func openedReader() throws(StoreError) -> StoreReader? {
    try openReader.withLock { reader throws(StoreError) in
      if reader == nil { reader = try OpenStores.reader(of: places.storeDirectory) }
      return reader
    }
  }
}

extension ClusterTransport {
  /// The facts of a picture. The store has them, or a worker fetches as much of the picture as they need.
  public func facts(of request: ImageRequest) async throws(ImageError) -> PictureFacts {
    let asked = try ClusterRequest(request.undelayed).forFacts
    let loaded = try await load(asked, of: request, bytesUpTo: .max, nil)
    guard let record = try? JSONDecoder().decode(FactsRecord.self, from: Data(loaded.bytes)) else {
      throw ImageError(
        code: .storeFailure, url: request.url, isRetryable: true,
        message: "the stored facts of the picture cannot be read")
    }
    var facts = record.facts
    facts.gps = nil
    facts.xmp?.packet = nil
    return facts
  }
}

extension ClusterTransport {
  /// Asks the coordinator. One is started if none answers and that is permitted.
  ///
  /// - Parameters:
  ///   - url: what an error is about.
  ///   - onUpdate: takes the replies before the answer. It runs on the session's thread, so it is quick.
  package func answer<Answer>(
    _ request: CoordinatorRequest<Answer>, about url: String? = nil,
    onUpdate: (@Sendable (ReceivedReply) -> Void)? = nil
  ) async throws(ImageError) -> Answer {
    do throws(SessionError) {
      return try await session.answer(request, onUpdate: onUpdate)
    } catch {
      throw ImageError(error, url: url)
    }
  }

  /// The jobs that have not ended; of very many, the newest.
  package func activeJobs() async throws(ImageError) -> [ImageJob] {
    try await answer(.jobs(isActiveOnly: true)).jobs
  }

  /// The size of the store; `nil` without one. Reads a few pages of its file.
  package func storeSize() async throws(ImageError) -> CacheSize? {
    let store = places.store
    let view = try await BlockingCall.run { try store.view() }
    switch view {
    case .size(let size): return size
    case .empty: return nil
    case .notPermitted(let reason):
      throw ImageError(code: .storeFailure, message: reason)
    }
  }
}

extension ClusterTransport {
  /// - Throws: ``ImageError/Code/internal`` if the process has no memory or descriptors left.
  static func upload(
    _ picture: [UInt8], as url: String?, options: RequestOptions, wantsPixels: Bool = false
  ) throws(ImageError) -> CoordinatorRequest<GetResult> {
    do throws(SystemError) {
      return try .upload(picture, as: url, options: options, wantsPixels: wantsPixels)
    } catch {
      throw ImageError(code: .internal, url: url, isRetryable: true, message: "\(error)")
    }
  }

  /// Has a thumbnail decoded by a sandboxed decoder of the cluster. A few at a time are decoded.
  public func pixels(
    of image: LoadedImage, frame: Int
  ) async throws(ImageError) -> ImagePixels {
    guard await decodes.enter() else { throw .cancelled(nil) }
    defer { decodes.leave() }
    let options = RequestOptions(variant: try ImagePixels.variant(showing: frame), keep: .none)
    let upload = try Self.upload(image.bytes, as: nil, options: options, wantsPixels: true)
    return try ImagePixels(await answer(upload))
  }
}

/// Requests about jobs share the connection of the loads. A list goes over a connection of its own.
extension ClusterTransport: JobTransport {
  /// Submits a list over a connection and from a thread of its own. A few lists are sent at the same time,
  /// others wait for them.
  public func submitJob(
    _ request: ImageJobRequest, urls: some Sequence<String> & Sendable
  ) async throws(ImageError) -> ImageJob.ID {
    let submission = JobSubmission(
      name: request.name, options: try request.options(), order: request.order)
    guard await submissions.enter() else { throw .cancelled(nil) }
    defer { submissions.leave() }
    return try await submission.job(of: urls, connect: connect).rawValue
  }

  /// A job as it stands now.
  public func job(_ id: ImageJob.ID) async throws(ImageError) -> ImageJob {
    try await answer(.job(JobID(rawValue: id))).withoutSecrets
  }

  /// A page of up to 500 jobs.
  public func jobs(
    before id: ImageJob.ID?
  ) async throws(ImageError) -> (jobs: [ImageJob], hasMore: Bool) {
    let page = try await answer(.jobs(before: id.map(JobID.init(rawValue:))))
    return (page.jobs.map(\.withoutSecrets), page.hasMore)
  }

  /// Watches a job over the connection of the loads. Each watch is one of its 1,000 requests.
  public func watchJob(
    _ id: ImageJob.ID, onUpdate: @escaping @Sendable (ImageJob) -> Void
  ) async throws(ImageError) {
    let end = try await answer(.watch(JobID(rawValue: id))) { reply in
      if case .job(_, let job) = reply.message { onUpdate(job.withoutSecrets) }
    }
    onUpdate(end.withoutSecrets)
  }

  /// A page of up to 500 URLs.
  public func jobResults(
    of id: ImageJob.ID, from index: Int, failedOnly: Bool
  ) async throws(ImageError) -> (results: [ImageJobResult], next: Int?) {
    let page = try await answer(
      .results(of: JobID(rawValue: id), from: max(0, index), isFailedOnly: failedOnly))
    let results = page.entries.map { line in
      ImageJobResult(
        index: line.index, line: line.place?.line, list: line.place?.list, url: line.url,
        outcome: line.outcome.map { ImageJobResult.Outcome($0, url: line.url, in: places) })
    }
    return (results, page.next)
  }

  /// Changes a job. The request is sent once.
  public func changeJob(
    _ id: ImageJob.ID, _ change: ImageJobChange
  ) async throws(ImageError) -> ImageJob {
    let job = JobID(rawValue: id)
    do throws(ImageError) {
      return try await answer(.change(job, change)).withoutSecrets
    } catch  where error.code == .disconnected {
      throw ImageError(
        code: .disconnected, isRetryable: true,
        message: "\(error.message); whether job \(job) was changed is not known: "
          + "imgctl status \(job) tells")
    }
  }
}

extension ClusterTransport {
  /// Uses the cluster of a program that has its own settings, with a coordinator beside it.
  ///
  /// - Parameters:
  ///   - settings: resolved.
  ///   - starter: for a process that is confined; `nil` if this process starts coordinators.
  package convenience init(
    _ settings: Settings, starter: CoordinatorStarter? = nil
  ) throws(ImageError) {
    let places = ClusterPlaces(settings, starter: starter)
    try self.init(places) { () throws(ClientError) in try places.connect() }
  }

  /// Goes on with a connection that was made before. If it is lost, another one is made at the same socket,
  /// to a coordinator of the same store; none is started.
  package convenience init(
    _ settings: Settings, continuing client: sending Client
  ) throws(ImageError) {
    let socketPath = client.socketPath
    let storeDirectory = client.storeDirectory
    let isOfOwnUser = client.isOfOwnUser
    let first = FirstClient(client)
    try self.init(ClusterPlaces(settings)) { () throws(ClientError) in
      if let client = first.take() { return client }
      let next = try Client(socketPath: socketPath)
      try next.requireStore(in: storeDirectory)
      // Files are read for a coordinator of this user alone.
      if isOfOwnUser { try next.requireOwnUser() }
      return next
    }
  }
}

/// A client on its way to the thread that uses it.
private final class FirstClient: Sendable {
  private let client: Mutex<Client?>

  init(_ client: sending Client) {
    self.client = Mutex(client)
  }

  /// - Returns: the client, once.
  func take() -> sending Client? {
    client.withLock { $0.take() }
  }
}
