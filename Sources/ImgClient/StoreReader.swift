package import ImgModel
import ImgSettings
package import ImgStore
import ImgWire

/// A record of the store with its content.
package struct StoredResult: Hashable, Sendable {
  package let record: CacheRecord
  /// The encoded picture, or the facts as JSON.
  package let bytes: [UInt8]

  init(_ record: CacheRecord, bytes: [UInt8]) {
    self.record = record
    self.bytes = bytes
  }
}

/// Reads the store straight from its map: without a coordinator, without a socket, with one copy. Each
/// call reads the store that the directory has at that time.
///
/// A request that is not lenient does not find what was made of a damaged picture.
package struct StoreReader: Sendable {
  let store: SharedStore

  init(_ store: SharedStore) {
    self.store = store
  }

  /// - Returns: `nil` when there is no store yet.
  package init?(directory: String) throws(StoreError) {
    do throws(StoreError) {
      store = try SharedStore(directory: directory, access: .readOnly)
    } catch  where error.reason == .absent {
      return nil
    }
  }

  /// The thumbnail and its bytes; `nil` when it is not there, or expired.
  ///
  /// - Parameters:
  ///   - moment: the thumbnail must not have expired before it; `nil` for now.
  ///   - recordingAccess: which accesses the store counts.
  package func thumbnail(
    for name: PictureName, variant: Variant, isLenient: Bool = false, at moment: WallTime? = nil,
    recordingAccess: AccessRecording = .hitsAndMisses
  ) throws(StoreError) -> StoredResult? {
    try record(
      ContentKey(name, variant: variant), isLenient: isLenient, at: moment ?? now,
      recordingAccess: recordingAccess)
  }

  /// What a request has made: the thumbnail in its first variant, or the facts of the picture as JSON; `nil`
  /// when it is not there, or expired.
  ///
  /// - Parameter maximumByteCount: a longer result has no bytes, and costs no copy.
  package func result(
    of name: PictureName, for request: ThumbnailRequest, at moment: WallTime? = nil,
    bytesUpTo maximumByteCount: Int = .max, recordingAccess: AccessRecording = .hitsAndMisses
  ) throws(StoreError) -> StoredResult? {
    try record(
      ContentKey(name, request), at: moment ?? now, bytesUpTo: maximumByteCount,
      recordingAccess: recordingAccess
    ) { $0.thumbnail.answers(isLenient: request.isLenient) }
  }

  /// All that a request has made: the thumbnails in its variants, in their order, the facts of the picture, or its
  /// original if the request keeps nothing else; `nil` in place of what is not there, or expired.
  package func results(
    of name: PictureName, for request: ThumbnailRequest
  ) throws(StoreError) -> [StoredResult?] {
    var found: [StoredResult?] = []
    for key in Self.resultKeys(of: name, for: request) {
      found.append(
        try record(key, isLenient: request.isLenient, at: now, recordingAccess: .none))
    }
    return found
  }

  /// The same without the bytes. Counts no access.
  package func resultRecords(
    of name: PictureName, for request: ThumbnailRequest
  ) throws(StoreError) -> [CacheRecord?] {
    var found: [CacheRecord?] = []
    for key in Self.resultKeys(of: name, for: request) {
      let result = try record(key, at: now, bytesUpTo: 0, recordingAccess: .none) {
        $0.thumbnail.answers(isLenient: request.isLenient)
      }
      found.append(result?.record)
    }
    return found
  }

  /// What a request may have stored of a picture and jobs pin, with these jobs. Counts no access.
  package func pinnedRecords(
    of name: PictureName, for request: ThumbnailRequest
  ) throws(StoreError) -> [(record: CacheRecord, jobs: [JobID])] {
    var found: [(record: CacheRecord, jobs: [JobID])] = []
    for key in Set(Self.resultKeys(of: name, for: request) + [ContentKey(originalOf: name)]) {
      let jobs = try store.current().pinningJobs(of: key)
      guard !jobs.isEmpty,
        let result = try record(
          key, at: now, bytesUpTo: 0, recordingAccess: .none, where: { _ in true })
      else { continue }
      found.append((result.record, jobs))
    }
    return found
  }

  static func resultKeys(of name: PictureName, for request: ThumbnailRequest) -> [ContentKey] {
    request.keep.isOriginalAlone
      ? [ContentKey(originalOf: name)] : ContentKey.results(of: name, for: request)
  }

  /// The thumbnail of a record, also of a damaged picture, and its bytes; `nil` when it is not there, has
  /// expired, or is no thumbnail. Is not counted as an access.
  func thumbnail(
    _ key: ContentKey
  ) throws(StoreError) -> StoredResult? {
    try record(key, at: now, recordingAccess: .none) { $0.kind == .thumbnail }
  }

  /// What is known of the thumbnails of one picture in some variants, without their bytes; `nil` in
  /// place of one that is not there, or expired.
  package func facts(
    of name: PictureName, as variants: [Variant], isLenient: Bool = false
  ) throws(StoreError) -> [CacheRecord?] {
    try facts(of: variants.map { ContentKey(name, variant: $0) }, isLenient: isLenient)
  }

  /// The picture as it came and its bytes; `nil` when it is not kept, or expired.
  package func original(
    of name: PictureName, isLenient: Bool = false
  ) throws(StoreError) -> StoredResult? {
    try record(
      ContentKey(originalOf: name), isLenient: isLenient, at: now, recordingAccess: .none)
  }

  /// What is known of the picture as it came, without its bytes; `nil` when it is not kept, or
  /// expired.
  package func originalFacts(
    of name: PictureName, isLenient: Bool = false
  ) throws(StoreError) -> CacheRecord? {
    try facts(of: [ContentKey(originalOf: name)], isLenient: isLenient).first ?? nil
  }

  private func facts(
    of keys: [ContentKey], isLenient: Bool
  ) throws(StoreError) -> [CacheRecord?] {
    try store.current().facts(of: keys, at: now).map { facts in
      facts.flatMap { $0.thumbnail.answers(isLenient: isLenient) ? $0 : nil }
    }
  }

  private func record(
    _ key: ContentKey, isLenient: Bool, at moment: WallTime, recordingAccess: AccessRecording
  ) throws(StoreError) -> StoredResult? {
    try record(key, at: moment, recordingAccess: recordingAccess) {
      $0.thumbnail.answers(isLenient: isLenient)
    }
  }

  private func record(
    _ key: ContentKey, at moment: WallTime, bytesUpTo maximumByteCount: Int = .max,
    recordingAccess: AccessRecording, where isWanted: (CacheRecord) -> Bool
  ) throws(StoreError) -> StoredResult? {
    do throws(StoreError) {
      let found = try store.current().contents(
        of: key, at: moment, recordingAccess: recordingAccess,
        where: { isWanted($0) && $0.thumbnail.byteCount <= maximumByteCount })
      guard let found, isWanted(found.record) else { return nil }
      return StoredResult(found.record, bytes: found.bytes)
    } catch  where error.reason == .absent {
      // It was removed after it was opened, and is not recreated yet.
      return nil
    }
  }

  package func size() throws(StoreError) -> CacheSize {
    try store.current().size()
  }

  /// How many thumbnails have expired at `moment` and are still there.
  package func expiredCount(at moment: WallTime) throws(StoreError) -> Int {
    try store.current().expiredCount(at: moment)
  }

  package func statistics() throws(StoreError) -> CacheStatistics {
    try store.current().statistics(at: now)
  }

  /// Calls `body` with every record, also expired ones, until it returns `false`.
  package func forEach(_ body: (CacheRecord) throws -> Bool) throws {
    try store.current().forEach(body)
  }

  private var now: WallTime { .now }
}

extension StoreReader {
  /// The result that answers a request without the coordinator; `nil` if it is not there, or the request
  /// asks for more: a later expiry, an original that is not kept, a fresh answer of the origin.
  ///
  /// - Parameters:
  ///   - options: its delay has passed.
  ///   - maximumByteCount: a longer result has no bytes, and costs no copy.
  package func hit(
    for url: ImageURL, _ options: RequestOptions, at now: WallTime,
    bytesUpTo maximumByteCount: Int = .max
  ) throws(StoreError) -> StoredResult? {
    let name = options.fetch.name(of: url)
    let policy = options.fetch.cachePolicy
    // A picture that comes from no origin has no original.
    if options.keep.includesOriginal, !url.isLocal {
      guard let original = try originalFacts(of: name, isLenient: options.isLenient),
        policy.accepts(original.terms, at: now)
      else { return nil }
    }
    guard
      let found = try result(
        of: name, for: options.request, bytesUpTo: maximumByteCount, recordingAccess: .hits),
      policy.accepts(found.record.terms, at: now),
      found.record.extended(by: Self.minimumRetention(of: options), at: now) == nil
    else { return nil }
    return found
  }

  /// The retention that the request asks for at least. Only the coordinator knows the default
  /// expiry, so this assumes the shortest.
  private static func minimumRetention(of options: RequestOptions) -> Retention {
    options.expiry.retentionOfStored(defaultExpiry: RequestOptions.expiryRange.lowerBound)
  }
}

/// What the store has of a thumbnail, for a command that makes none.
package enum CachedThumbnail: Sendable {
  case found(StoredResult)
  /// The store has the thumbnail of a damaged picture, which the command does not accept.
  case damaged
  /// The store has the picture in this size only in other formats, possibly in none.
  case absent(otherFormats: [ImageFormat])
}

extension LocalStore {
  /// The thumbnail of a picture in the variant of a choice, or in one that serves as well.
  package func thumbnail(
    of name: PictureName, _ choice: VariantChoice
  ) throws -> CachedThumbnail {
    guard let reader = try reader() else { return .absent(otherFormats: []) }
    let stored = try choice.stored(of: name, in: reader)
    let found = try reader.thumbnail(
      for: name, variant: stored.variant ?? choice.variant, isLenient: choice.isLenient)
    if let found { return .found(found) }
    let damaged = try reader.thumbnail(
      for: name, variant: choice.variant, isLenient: true, recordingAccess: .none)
    return damaged == nil ? .absent(otherFormats: stored.formats) : .damaged
  }
}

/// A thumbnail with its source, or the reason why there is none.
package enum FoundThumbnail: Sendable {
  case stored(StoredResult, isFromCache: Bool, Timings?)
  case uncached(UncachedPicture)
  case nothing(Failure, Timings?)
}

extension FoundThumbnail: Encodable {
  /// Writes what `imgctl get --json` prints, without the URL.
  package func encode(to encoder: any Encoder) throws {
    let report =
      switch self {
      case .stored(let found, let isFromCache, let timings):
        JSONObject(
          ["from_cache": isFromCache, "stored": true, "timings": timings], beside: found.record)
      case .uncached(let made):
        JSONObject(
          [
            "from_cache": false, "stored": false, "timings": made.facts.timings,
            "not_stored_because": made.facts.failure?.detail,
          ], beside: made.facts.source, made.facts.thumbnail)
      case .nothing(let failure, let timings):
        JSONObject(["timings": timings], beside: failure)
      }
    try report.encode(to: encoder)
  }
}

/// The variant that a command delivers, and the variants under which the store may have it.
package struct VariantChoice: Hashable, Sendable {
  /// The source of the requested format.
  package enum FormatSource: Sendable {
    case option
    /// A thumbnail whose format was chosen by transparency also serves if it has this format,
    /// because its bytes are the same.
    case fileName
    case nothing
  }

  package let variant: Variant
  /// Whether the thumbnail of a damaged picture serves.
  package let isLenient: Bool
  private let formatSource: FormatSource

  package init(variant: Variant, isLenient: Bool, formatSource: FormatSource) {
    self.variant = variant
    self.isLenient = isLenient
    self.formatSource = formatSource
  }

  /// The variant to request; a stored one if possible.
  ///
  /// - Parameters:
  ///   - name: the name of the picture.
  ///   - policy: must accept the stored thumbnail at `now`.
  ///   - reader: `nil` if there is no store.
  func resolved(
    for name: PictureName, _ policy: CachePolicy, at now: WallTime, in reader: StoreReader?
  ) throws(StoreError) -> Variant {
    guard formatSource == .fileName, let reader,
      let byTransparency = try? variant.changed({ $0.format = .auto })
    else { return variant }
    let found = try reader.facts(of: name, as: [variant, byTransparency], isLenient: isLenient)
    guard found[0] == nil, let other = found[1],
      ImageVariant.Format(other.thumbnail.format) == variant.format,
      policy.accepts(other.terms, at: now)
    else { return variant }
    return byTransparency
  }

  /// The stored variants of the picture in this size, for a command that makes none.
  ///
  /// - Returns: the variant to deliver, `nil` if no stored one serves; and the stored formats. Any
  ///   format serves if none is requested.
  func stored(
    of name: PictureName, in reader: StoreReader
  ) throws(StoreError) -> (variant: Variant?, formats: [ImageFormat]) {
    let others = ImageVariant.Format.allCases.filter { $0 != variant.format }
    let variants =
      [variant] + others.compactMap { other in try? variant.changed { $0.format = other } }
    let facts = try reader.facts(of: name, as: variants, isLenient: isLenient)
    let found = zip(variants, facts).compactMap { variant, facts in
      facts.map { (variant: variant, format: $0.thumbnail.format) }
    }
    let delivered = found.first { $0.variant == variant || serves($0.format) }
    return (delivered?.variant, found.map(\.format))
  }

  private func serves(_ format: ImageFormat) -> Bool {
    switch formatSource {
    case .option: false
    case .fileName: ImageVariant.Format(format) == variant.format
    case .nothing: true
    }
  }
}

/// Finds the thumbnail of a URL, or its facts: in the store, else through the coordinator.
package struct ThumbnailFinder {
  /// What the coordinator reports of a request until it answers. What is `nil` is not asked for.
  package struct Observers {
    package var onPreview: ((ImagePreview) -> Void)?
    /// Whether previews may show the first rows alone.
    package var previewsRows = false
    package var onProgress: ((ImageProgress) -> Void)?
    package var onWait: (Wait) -> Void = { _ in }

    package init() {}

    var wanted: ArrivalUpdates {
      [
        onPreview == nil ? [] : previewsRows ? [.previews, .rows] : .previews,
        onProgress == nil ? [] : .progress,
      ]
    }

    func take(_ reply: ReceivedReply) throws(ClientError) {
      switch reply.message {
      case .waiting(_, let wait): onWait(wait)
      case .progress(_, let progress): onProgress?(progress)
      case .preview(_, let number, let thumbnail):
        onPreview?(ImagePreview(number: number, thumbnail: thumbnail, bytes: try reply.bytes()))
      default: break
      }
    }
  }

  private let choice: VariantChoice
  /// Names the place that shows the picture; `nil` for a request by itself.
  private let viewer: String?
  private let store: LocalStore
  /// Whether the store is read before the coordinator is asked.
  private let readsStoreFirst: Bool
  private let connect: () throws -> Client

  /// - Parameters:
  ///   - readsStoreFirst: `false` if to read the store may end the process.
  ///   - connect: makes a connection to the coordinator of the store.
  package init(
    _ choice: VariantChoice, viewer: String?, in store: LocalStore, readsStoreFirst: Bool,
    connect: @escaping () throws -> Client
  ) {
    self.choice = choice
    self.viewer = viewer
    self.store = store
    self.readsStoreFirst = readsStoreFirst
    self.connect = connect
  }

  /// Reads a hit from the store without the coordinator; else the coordinator makes the thumbnail.
  /// The coordinator also handles a hit with a delay, with a viewer, with a later expiry, or that
  /// bypasses the store.
  ///
  /// - Parameter given: the requested variant may be replaced by one that the store has.
  package func thumbnail(
    of url: ImageURL, _ given: RequestOptions, _ observers: Observers
  ) throws -> FoundThumbnail {
    let options = try resolved(given, for: url)
    if let hit = try stored(url, options) { return .stored(hit, isFromCache: true, nil) }
    let asked = WallTime.now
    let result = try connect().answer(
      .get(
        GetRequest(
          url: url.text, viewer: viewer, options: options, updates: observers.wanted)),
      onUpdate: observers.take)
    if let picture = result.uncached { return .uncached(picture) }
    guard case .done(_, let isFromCache, _) = result.outcome else {
      let failure = result.outcome.failure(cancelledBecause: reasonOfCancel)
      return .nothing(failure ?? .isGone, result.timings)
    }
    // As of the request, so that a very short expiry does not hide the new thumbnail.
    let made = try store.reader()?.result(
      of: options.fetch.name(of: url), for: options.request, at: asked, recordingAccess: .none)
    guard let made else { throw Failure.isGone }
    return .stored(made, isFromCache: isFromCache, result.timings)
  }

  /// The picture as its origin sent it, without a decode: that of the store, or one that is fetched and stored.
  package func original(
    of url: ImageURL, _ given: RequestOptions, _ observers: Observers
  ) throws -> FoundThumbnail {
    var options = given
    options.keep = .undecodedOriginal
    let name = options.fetch.name(of: url)
    func stored() throws -> StoredResult? {
      try store.reader()?.original(of: name, isLenient: true)
    }
    if readsStoreFirst, options.fetch.cachePolicy == .cacheElseLoad, let kept = try stored() {
      return .stored(kept, isFromCache: true, nil)
    }
    let result = try connect().answer(
      .get(GetRequest(url: url.text, options: options, updates: observers.wanted)),
      onUpdate: observers.take)
    guard case .done(_, let isFromCache, _) = result.outcome else {
      return .nothing(result.outcome.failure() ?? .isGone, result.timings)
    }
    guard let kept = try stored() else {
      return .nothing(result.uncached?.facts.failure ?? .isGone, result.timings)
    }
    return .stored(kept, isFromCache: isFromCache, result.timings)
  }

  /// The options with the variant that the store has.
  private func resolved(
    _ options: RequestOptions, for url: ImageURL
  ) throws(StoreError) -> RequestOptions {
    guard !options.bypassesStore, readsStoreFirst else { return options }
    var resolved = options
    do throws(StoreError) {
      resolved.variant = try choice.resolved(
        for: options.fetch.name(of: url), options.fetch.cachePolicy, at: .now,
        in: try store.reader())
    } catch  where error.reason == .damaged {
      return options
    }
    return resolved
  }

  /// The stored result, if the request needs no more. A damaged store counts as empty, because a worker
  /// will recreate it.
  private func stored(
    _ url: ImageURL, _ options: RequestOptions
  ) throws(StoreError) -> StoredResult? {
    guard viewer == nil, !options.bypassesStore, options.delay == .zero, readsStoreFirst
    else { return nil }
    do throws(StoreError) {
      return try store.reader()?.hit(for: url, options, at: .now)
    } catch  where error.reason == .damaged {
      return nil
    }
  }

  private var reasonOfCancel: String {
    viewer.map { "a later get of the viewer \(Spelling.quoted($0)) replaced this one" }
      ?? "the request was cancelled"
  }
}
