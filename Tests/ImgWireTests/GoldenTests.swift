import FoundationEssentials
import ImgModel
import ImgWire
import Testing

/// The encoding of each message. A difference is a change of the protocol: raise
/// `Build.protocolVersion`, then run the tests with `IMGCTL_WRITE_GOLDEN=1` to rewrite the files.
@Suite struct GoldenTests {
  @Test func `each coordinator message is encoded as its golden file`() throws {
    try check(GoldenMessages.coordinatorMessages(), in: "CoordinatorMessage")
  }

  @Test func `each worker message is encoded as its golden file`() throws {
    try check(GoldenMessages.workerMessages(), in: "WorkerMessage")
  }

  @Test func `each decoder order is encoded as its golden file`() throws {
    try check(GoldenMessages.decoderOrders(), in: "DecoderOrder")
  }

  @Test func `each decoder report is encoded as its golden file`() throws {
    try check(GoldenMessages.decoderReports(), in: "DecoderReport")
  }

  @Test func `each client message is encoded as its golden file`() throws {
    try check(GoldenMessages.clientMessages(), in: "ClientMessage")
  }

  @Test func `each coordinator reply is encoded as its golden file`() throws {
    try check(GoldenMessages.coordinatorReplies(), in: "CoordinatorReply")
  }

  private func check<Message: WireMessage & Equatable>(
    _ messages: [String: Message], in folder: String
  ) throws {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Golden/\(folder)")
    for (name, message) in messages {
      let file = directory.appending(path: "\(name).json")
      let payload = Array(try WireCoding.frame(message).dropFirst(4))
      if ProcessInfo.processInfo.environment["IMGCTL_WRITE_GOLDEN"] == "1" {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data(payload + Array("\n".utf8)).write(to: file)
      }
      let golden = try Data(contentsOf: file)
      #expect(
        String(decoding: payload + Array("\n".utf8), as: UTF8.self)
          == String(decoding: golden, as: UTF8.self))
      #expect(try WireCoding.message(Message.self, from: ArraySlice(golden)) == message)
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(Set(files) == Set(messages.keys.map { "\($0).json" }))
  }
}

/// One message of each kind and the name of its golden file. Each optional member is present in one
/// message and absent in another.
enum GoldenMessages {
  static let hello = Hello(protocolVersion: 1, version: "0.1.0", processID: 4_711)
  static let thumbnail = Thumbnail(format: .webp, width: 256, height: 171, byteCount: 9_182)
  static let lease = LeaseID(rawValue: 17)
  static let decoder = DecoderID(rawValue: 2)
  static let sandbox = SandboxReport(
    hasNoNewPrivileges: true, isNotDumpable: true, hasSystemCallFilter: true, landlockVersion: 7)
  static let request = RequestID(rawValue: 5)
  static let job = JobID(rawValue: 3)
  static let failure = Failure(
    stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "the origin answered 503")

  static var timings: Timings {
    var timings = Timings()
    timings.dns = .milliseconds(12)
    timings.connect = .milliseconds(34)
    timings.tls = .milliseconds(56)
    timings.ttfb = .milliseconds(78)
    timings.download = .milliseconds(90)
    timings.decode = .milliseconds(21)
    timings.store = .milliseconds(0)
    return timings
  }

  /// As of a gray picture.
  static let thumbHash: ThumbHash = {
    let bytes: [UInt8] = [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19)
    guard let hash = ThumbHash(bytes: bytes) else { preconditionFailure("its form is right") }
    return hash
  }()

  static let uncached = UncachedThumbnail(
    thumbnail: thumbnail,
    source: SourcePicture(
      format: .jpeg, width: 4_000, height: 3_000, byteCount: 2_345_678, decodePath: .general,
      thumbHash: thumbHash),
    failure: Failure(stage: .store, code: .storeFull, detail: "the store is full"), timings: timings
  )

  static var variant: Variant {
    get throws {
      try Variant(
        ImageVariant(
          width: 400, height: 300, mode: .fill, crop: .centre, format: .jpeg, quality: 70))
    }
  }

  static var fetchOptions: FetchOptions {
    get throws {
      FetchOptions(
        headers: try HeaderFields([
          HeaderField(name: "Authorization", value: "Basic YTpi", onlyTo: "example.com"),
          HeaderField(name: "Referer", value: "https://example.com/"),
        ]), referer: .ownOrigin,
        cookies: try Cookies([Cookie(line: "example.com\tTRUE\t/\tTRUE\t0\tsession\t1")]),
        ignoredQuery: try QueryFilter(["X-Amz-*"]), cacheKey: try CacheKey("photo-17"),
        respectsOptOut: true, respectsRobots: true,
        redirectOrigins: try OriginList([OriginPattern(parsing: "https://*.example.com/pictures")]),
        contact: try Contact("ada@example.com"))
    }
  }

  /// A coordinator reports them without their credentials.
  private static var proxies: ProxySettings {
    let proxy = try? ProxyURL(parsing: "http://ada:secret@proxy.example:3128")
    return ProxySettings(http: proxy, https: proxy, directHosts: ["localhost", ".example"])
  }

  static func coordinatorMessages() throws -> [String: CoordinatorMessage] {
    var limits = Limits()
    limits.contact = try Contact("ada@example.org")
    let batch = Batch(
      ThumbnailRequest(variant: try variant, keep: .all, fetch: try fetchOptions),
      retention: Retention(
        after: .seconds(3_600), until: WallTime(rawValue: 1_800_000_000_000),
        sliding: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: "https://example.com/a.jpg?b=c/d")])
    return [
      "welcome": .welcome(
        Welcome(
          hello: hello, limits: limits, storeDirectory: "/var/cache/imgctl/store",
          allowedNetworks: [NetworkRange(bytes: [127, 0, 0, 0], prefixLength: 8)].compactMap(
            \.self),
          allowedDirectories: ["/srv/pictures"], authorityFile: "/etc/ssl/own.pem",
          proxies: proxies, requiresSandbox: true)),
      "lookup": .lookup(batch),
      "lookup_pinning": .lookup(
        Batch(
          batch.request, retention: Retention(pins: [JobID(rawValue: 7), JobID(rawValue: 9)]),
          isUrgent: false, items: batch.items)),
      "fetch": .fetch(
        Batch(
          ThumbnailRequest(variant: .standard), retention: Retention(after: .milliseconds(1)),
          isUrgent: true, items: batch.items)),
      "fetch_no_cache": .fetch(
        Batch(
          ThumbnailRequest(variant: .standard, bypassesStore: true),
          retention: Retention(after: .milliseconds(1)), isUrgent: true, items: batch.items)),
      "attach": .attach(batch),
      "decode": .decode(batch),
      "decode_upload": .decodeUpload(
        Upload(
          lease: lease, url: "https://example.com/a.jpg",
          request: ThumbnailRequest(variant: try variant, keep: .all),
          retention: Retention(after: .milliseconds(1)), byteCount: 2_345_678)),
      "decode_upload_unnamed": .decodeUpload(
        Upload(
          lease: lease, url: nil, request: ThumbnailRequest(variant: .standard),
          retention: Retention(after: .milliseconds(1)), byteCount: 0, wantsPixels: true)),
      "updates": .updates(lease, [.previews, .rows]),
      "updates_ended": .updates(lease, nil),
      "decode_upload_fetched": .decodeUpload(
        Upload(
          lease: lease, url: "https://example.com/a.jpg",
          request: ThumbnailRequest(variant: .standard),
          retention: Retention(after: .milliseconds(1)), byteCount: 1,
          response: try HeaderFields([HeaderField(name: "ETag", value: "\"a\"")]))),
      "cancel": .cancel([lease]),
      "follow_redirects": .followRedirects([TransferID(startedBy: lease)]),
      "sweep": .sweep(expiredAt: WallTime(rawValue: 1_700_000_000_123)),
      "unpin": .unpin([JobID(rawValue: 7)]),
      "drop_connections": .dropConnections,
      "decoder_exited": .decoderExited(DecoderExit(decoder: decoder, end: .exited(1))),
      "decoder_exited_killed": .decoderExited(DecoderExit(decoder: decoder, end: .signalled(11))),
      "decoder_exited_not_started": .decoderExited(
        DecoderExit(decoder: decoder, end: .notStarted("too many processes"))),
      "drain": .drain,
    ]
  }

  static func workerMessages() -> [String: WorkerMessage] {
    [
      "hello": .hello(hello),
      "ready": .ready(Credits(lookups: 1_024, leases: 256, decodeQueueTarget: 40)),
      "refused": .refused(reason: "the store cannot be opened"),
      "looked_up": .lookedUp(
        LookupResults(
          hits: [.init(lease: lease, thumbnail: thumbnail)], stale: [lease],
          originals: [LeaseID(rawValue: 20)], misses: [LeaseID(rawValue: 18)])),
      "unpinned": .unpinned([LeaseID(rawValue: 19)]),
      "host_updates": .hostUpdates(
        HostUpdates(
          cooldowns: [
            HostCooldown(
              host: "example.com", origin: "https://example.com:8443", seconds: 120,
              httpStatus: 503)
          ],
          extraRequests: ["example.com"],
          robotsKnown: [lease],
          robotsFetched: [
            RobotsFetch(from: "example.com"), RobotsFetch(from: "example.org", sign: .page),
          ],
          slow: [TransferID(startedBy: lease)], fast: [TransferID(rawValue: 18)],
          held: [HeldTransfer(TransferID(rawValue: 18), for: .milliseconds(1_500))],
          phases: [PhasedTransfer(TransferID(rawValue: 18), .connecting)],
          crawlDelays: [CrawlDelay(of: "example.com", .seconds(10))])),
      "redirected": .redirected(
        [
          .init(
            transfer: TransferID(startedBy: lease), host: "example.org",
            origin: "https://example.org")
        ]),
      "transferred": .transferred([lease]),
      "released": .released([lease]),
      "finished": .finished(
        FetchResults(
          results: [
            .init(
              lease: lease, outcome: .done(thumbnail, fromCache: false, bytesFetched: 81_920)),
            .init(
              lease: LeaseID(rawValue: 18), outcome: .failed(failure), timings: timings),
            .init(lease: LeaseID(rawValue: 19), outcome: .cancelled),
            .init(
              lease: LeaseID(rawValue: 20),
              outcome: .done(thumbnail, fromCache: true, bytesFetched: 0), failureBehind: failure),
          ], decodeQueueCount: 5)),
      "uncached": .uncached(
        UncachedResult(
          lease: lease, made: uncached, bytesFetched: 81_920, isStoreDegraded: true)),
      "preview": .preview(MadePreview(lease: lease, thumbnail: thumbnail, shownByteCount: 16_384)),
      "progress": .progress(
        [
          .init(
            lease: lease,
            progress: ImageProgress(receivedByteCount: 16_384, expectedByteCount: 81_920)),
          .init(
            lease: LeaseID(rawValue: 18), progress: ImageProgress(receivedByteCount: 1_460)),
        ]),
      "start_decoder": .startDecoder(decoder),
      "end_decoder": .endDecoder(decoder),
      "store": .store(
        StoreReport(
          directory: "/data/store", budgetByteCount: 419_430_400, diskByteCount: 104_857_600,
          pinnedByteCount: 8_192,
          pinningJobs: [JobID(rawValue: 7)])),
      "sandboxed": .sandboxed(WorkerSandbox(worker: SandboxReport(), decoder: sandbox)),
    ]
  }

  static func decoderOrders() throws -> [String: DecoderOrder] {
    [
      "start": .start(Limits(), requiresSandbox: true),
      "input": .input,
      "decode": .decode(
        DecodeRequest(picture: 7, variants: [try variant], isLenient: true, byteCount: 81_920)),
      "describe": .describe(picture: 7, byteCount: 81_920),
    ]
  }

  static var pixelFacts: PixelFacts {
    let blurHash = BlurHash("LIGY=sU|KJ$*|=JCOD,WR%S#A?E}")
    let palette = [PixelFacts.Colour(RGBColour(red: 200, green: 30, blue: 9), share: 0.75)]
    guard let blurHash,
      let facts = PixelFacts(thumbHash: thumbHash, blurHash: blurHash, palette: palette)
    else { preconditionFailure("their form is right") }
    return facts
  }

  static func description(frameDelays: [Int]? = nil) -> PictureDescription {
    guard let description = PictureDescription(pixels: pixelFacts, frameDelays: frameDelays) else {
      preconditionFailure("their form is right")
    }
    return description
  }

  static func decoderReports() -> [String: DecoderReport] {
    [
      "described": .described(description(), picture: 7),
      "described_animation": .described(description(frameDelays: [40, 1_320]), picture: 7),
      "ready": .ready(processID: 4_713, sandbox),
      "refused": .refused(DecoderRefusal(reason: "libvips cannot be started", isLasting: false)),
      "decoded": .decoded(
        RenderedFacts(
          thumbnails: [thumbnail],
          source: SourceFacts(format: .jpeg, width: 4_000, height: 3_000, frames: 1),
          thumbHash: thumbHash),
        picture: 7),
      "failed": .failed(
        Failure(stage: .decode, code: .corruptImage, detail: "header: bad marker"), picture: 7),
    ]
  }

  static func clientMessages() throws -> [String: ClientMessage] {
    let options = RequestOptions(
      variant: try variant, expiry: Expiry(.after(.seconds(604_800)), isSliding: true),
      priority: -1, hostRatePerMinute: 60, attempts: 2)
    let submission = Submission(
      name: "holiday", options: options, order: .lastInFirstOut, columns: ["id"])
    let delayed = RequestOptions(
      variant: .standard, expiry: Expiry(.at(WallTime(rawValue: 1_800_000_000_123))),
      delay: .milliseconds(250), keep: .original)
    let changes = changes.mapValues { ClientMessage.change(request, $0, of: job) }
    return try changes.merging(fetchMessages()) { $1 }.merging([
      "hello": .hello(hello),
      "submit": .submit(request, submission),
      "submit_lines": .submitLines(request, ["https://example.com/ü", "not a URL"]),
      "submit_lines_placed": .submitLines(request, placedLines),
      "submit_end": .submitEnd(request),
      "status": .status(request),
      "jobs": .jobs(request, JobsRequest(before: job, isActiveOnly: true)),
      "job": .job(request, job, isWatching: true),
      "results": .results(request, ResultsRequest(job: job, from: 500, isFailedOnly: true)),
      "limit": .limit(
        request,
        LimitChange(
          transfers: 16, hostRatePerMinute: 300, bytesPerSecond: 5 << 20, hostBytesPerSecond: 0,
          defaultExpiry: .seconds(3_600), memoryBudgetByteCount: 80 << 20)),
      "share_memory": .shareMemory(request),
      "get": .get(
        request,
        GetRequest(
          url: "https://example.com/a.jpg",
          options: RequestOptions(variant: .standard))),
      "get_viewer": .get(
        request, GetRequest(url: "https://example.com/a.jpg", viewer: "left", options: delayed)),
      "get_no_cache": .get(
        request,
        GetRequest(
          url: "https://example.com/a.jpg",
          options: RequestOptions(ThumbnailRequest(variant: .standard, bypassesStore: true)))),
      "get_incremental": .get(
        request,
        GetRequest(
          url: "https://example.com/a.jpg",
          options: RequestOptions(variant: .standard), updates: .previews)),
      "get_progress": .get(
        request,
        GetRequest(
          url: "https://example.com/a.jpg",
          options: RequestOptions(variant: .standard), updates: .progress)),
      "get_retry_after": .get(
        request,
        GetRequest(
          url: "https://example.com/a.jpg",
          options: RequestOptions(variant: .standard, timeout: .milliseconds(1_500)),
          maximumRetryAfter: .seconds(2))),
      "next_preview": .nextPreview(request),
      "upload": .upload(
        request,
        UploadRequest(url: "https://example.com/a.jpg", byteCount: 2_345_678, options: options)),
      "upload_unnamed": .upload(
        request,
        UploadRequest(
          url: nil, byteCount: 0, options: RequestOptions(variant: .standard),
          wantsPixels: true)),
      "detach": .detach(request),
      "forget": .forget(request, urls: ["https://example.com/a.jpg"]),
      "sweep": .sweep(request),
      "stop": .stop(request),
    ]) { $1 }
  }

  /// What a client says that fetches by itself.
  private static func fetchMessages() throws -> [String: ClientMessage] {
    [
      "get_offering": .get(
        request,
        GetRequest(
          url: "https://example.com/a.jpg", options: RequestOptions(variant: .standard),
          offersFetch: true)),
      "fetched": .fetched(
        request,
        FetchedPicture(
          byteCount: 2_345_678,
          fields: try HeaderFields([HeaderField(name: "ETag", value: "\"a\"")]))),
      "fetch_failed": .fetchFailed(request, failure),
      "read_files": .readFiles(request, JobID(rawValue: 17)),
    ]
  }

  /// Each change of a job, by the name of its golden file.
  private static let changes: [String: ImageJobChange] = [
    "change_pause": .pause,
    "change_resume": .resume,
    "change_cancel": .cancel,
    "change_retry": .retry(includesFinal: true),
    "change_prioritise": .setPriority(.veryLow),
    "change_remove": .remove,
  ]

  static func coordinatorReplies() throws -> [String: CoordinatorReply] {
    var record = JobRecord(
      id: job, options: RequestOptions(variant: try variant), state: .queued,
      counts: JobCounts(total: 10), submittedAt: WallTime(rawValue: 1_700_000_000_123))
    record.startedAt = WallTime(rawValue: 1_700_000_001_000)
    record.count(.done(thumbnail, fromCache: false, bytesFetched: 81_920))
    record.count(.done(thumbnail, fromCache: true, bytesFetched: 0))
    record.count(.failed(failure))
    let status = ImageJob(record, running: 2)
    let delayed = JobRecord(
      id: job, options: RequestOptions(variant: .standard, priority: 1, delay: .milliseconds(250)),
      order: .lastInFirstOut, state: .queued, submittedAt: WallTime(rawValue: 1_700_000_000_123))
    return [
      "hello": .hello(
        Hello(
          processID: 4_711, storeDirectory: "/var/cache/imgctl/store",
          proxies: ProxySettings(
            http: try? ProxyURL(parsing: "http://ada:secret@proxy.example:3128"), https: nil,
            directHosts: ["localhost"]))),
      "refused": .refused(request, .unknownJob, message: "there is no job 3"),
      "submitted": .submitted(request, job, total: 1_000),
      "status": .status(request, cluster),
      "jobs": .jobs(request, JobsPage(jobs: [status], hasMore: false)),
      "job": .job(request, status),
      "job_waiting": .job(request, ImageJob(record, running: 2, wait: wait)),
      "job_delayed": .job(request, ImageJob(delayed, isDelayed: true)),
      "results": .results(request, results),
      "memory_share": .memoryShare(request, byteCount: 20 << 20),
      "got": .got(request, GotReply(outcome: .done(thumbnail, fromCache: true, bytesFetched: 0))),
      "got_timed": .got(request, GotReply(outcome: .failed(failure), timings: timings)),
      "got_uncached": .got(
        request,
        GotReply(
          outcome: .done(thumbnail, fromCache: false, bytesFetched: 81_920),
          uncached: uncached)),
      "preview": .preview(request, number: 2, thumbnail),
      "progress": .progress(
        request, ImageProgress(receivedByteCount: 16_384, expectedByteCount: 81_920)),
      "progress_unknown_length": .progress(request, ImageProgress(receivedByteCount: 16_384)),
      "fetch": .fetch(request, FetchWanted(limit: .seconds(60))),
      "fetch_file": .fetch(
        request,
        FetchWanted(
          limit: .seconds(60),
          file: WantedFile(
            url: "file:///srv/a%20%23.jpg#imgctl-3-2-1", maximumByteCount: 104_857_600))),
      "files_read": .filesRead(request),
      "waiting": .waiting(request, wait),
      "forgotten": .forgotten(request),
      "detached": .detached(request),
      "sweeping": .sweeping(request),
      "stopping": .stopping(request, clients: [4711]),
    ]
  }

  private static let results = ResultsPage(
    entries: [
      LineResult(index: 0, placedLine(3), .failed(failure)),
      LineResult(index: 1, ListLine("https://example.com/b.jpg"), nil),
    ], next: 2)

  private static func placedLine(_ line: Int) -> ListLine {
    let columns = LineColumns(texts: ["A cat", "007"])
    let place = LinePlace(line: line, list: 0)
    return ListLine("https://example.com/a.jpg", at: place, columns: columns ?? .none)
  }

  private static var placedLines: ListLines {
    var lines: ListLines = ["https://example.com/ü"]
    for line in [1, 2, 5] { lines.append(placedLine(line)) }
    return lines
  }

  private static let wait = Wait(
    .backoff, host: "example.com", detail: "the origin answered 503", httpStatus: 503, attempt: 2,
    urls: 4, moreHosts: 1, until: WallTime(rawValue: 1_700_000_042_000))

  private static let cluster = ClusterStatus(
    state: .running, processID: 4_711, version: "0.1.0",
    startedAt: WallTime(rawValue: 1_700_000_000_000), socketPath: "/run/imgctl/control.sock",
    dataDirectory: "/var/lib/imgctl", cacheDirectory: "/var/cache/imgctl",
    storeName: "thumbnails",
    workers: [
      .init(
        number: 0, processes: .init(worker: 4_712, decoders: [4_714, 4_715], decoderDeaths: 6),
        state: .ready, lookingUp: 1, fetching: 2, decoding: 3, deaths: 0),
      .init(
        number: 1, processes: .init(worker: nil), state: .backingOff, lookingUp: 0, fetching: 0,
        decoding: 0, deaths: 4),
    ],
    sandboxes: .init(
      coordinator: SandboxReport(isNotDumpable: true), decoders: sandbox),
    memory: .init(processCount: 2, shareByteCount: 20 << 20),
    transfers: 2, activeJobs: 1, viewers: 0, lateAnswers: 0, discardedLate: 6, journalError: nil,
    storeError: StoreErrorStatus(
      reason: "the store is full", since: WallTime(rawValue: 1_700_000_002_000), servedCount: 12),
    wait: Wait(.workerStarting, since: WallTime(rawValue: 1_700_000_000_500)),
    waitingHosts: [wait], moreWaitingHosts: 7, limits: Limits(),
    settings: CoordinatorSettings(
      workerExecutable: "/usr/lib/imgctl/imgworker", idleExit: .seconds(600),
      allowedNetworks: ["10.0.0.0/8"], allowedDirectories: ["/srv/pictures"],
      authorityFile: "/etc/imgctl/authorities.pem", proxies: proxies, requiresSandbox: true))
}
