import ImgClient
import ImgModel
import ImgSystem

/// What `--json` prints for a stored thumbnail or original.
struct StoredReport: Encodable {
  private let key: String
  private let kind: String
  private let url: RequestedURL
  private let thumbnail: Thumbnail
  private let sourceFormat: ImageFormat
  private let sourceWidth: Int
  private let sourceHeight: Int
  private let decodePath: DecodePath?
  private let thumbHash: ThumbHash?
  private let sourceByteCount: Int64
  private let storedAt: WallTime
  private let expiresAt: WallTime
  private let lifetime: Int64?
  private let isFromCache: Bool?
  private let timings: Timings?

  private enum CodingKeys: String, CodingKey {
    case key, kind
    case sourceFormat = "source_format"
    case sourceWidth = "source_width"
    case sourceHeight = "source_height"
    case decodePath = "decode_path"
    case thumbHash = "thumbhash"
    case sourceByteCount = "source_bytes"
    case storedAt = "stored_at"
    case expiresAt = "expires_at"
    case lifetime = "lifetime_ms"
    case isFromCache = "from_cache"
    case isStored = "stored"
    case timings
  }

  /// - Parameters:
  ///   - url: the URL as requested; `nil` in a list, which uses the name of the record.
  ///   - isFromCache: whether the store had it before the request; `nil` without a request.
  init(
    _ record: StoredRecord, of url: RequestedURL? = nil, isFromCache: Bool? = nil,
    timings: Timings? = nil
  ) {
    key = record.key
    kind = record.kind.rawValue
    self.url = url ?? RequestedURL(verbatim: record.name)
    thumbnail = record.thumbnail
    sourceFormat = record.sourceFormat
    sourceWidth = record.sourceWidth
    sourceHeight = record.sourceHeight
    decodePath = record.decodePath
    thumbHash = record.thumbHash
    sourceByteCount = record.sourceByteCount
    storedAt = record.storedAt
    expiresAt = record.expiresAt
    lifetime = record.lifetime > .zero ? record.lifetime.milliseconds : nil
    self.isFromCache = isFromCache
    self.timings = timings
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(key, forKey: .key)
    try container.encode(kind, forKey: .kind)
    try url.encode(to: encoder)
    try container.encode(sourceFormat, forKey: .sourceFormat)
    try container.encode(sourceWidth, forKey: .sourceWidth)
    try container.encode(sourceHeight, forKey: .sourceHeight)
    try container.encodeIfPresent(decodePath, forKey: .decodePath)
    try container.encodeIfPresent(thumbHash, forKey: .thumbHash)
    try container.encode(sourceByteCount, forKey: .sourceByteCount)
    try container.encode(storedAt, forKey: .storedAt)
    try container.encode(expiresAt, forKey: .expiresAt)
    try container.encodeIfPresent(lifetime, forKey: .lifetime)
    if let isFromCache {
      try container.encode(isFromCache, forKey: .isFromCache)
      // `false` is for UncachedReport.
      try container.encode(true, forKey: .isStored)
    }
    try container.encodeIfPresent(timings, forKey: .timings)
    try thumbnail.encode(to: encoder)
  }
}

/// What `imgctl get --json` prints for a thumbnail that is not in the store: the keys of
/// ``StoredReport``, except those that only a record has.
struct UncachedReport: Encodable {
  private let url: RequestedURL
  private let made: UncachedThumbnail

  private enum CodingKeys: String, CodingKey {
    case sourceFormat = "source_format"
    case sourceWidth = "source_width"
    case sourceHeight = "source_height"
    case decodePath = "decode_path"
    case thumbHash = "thumbhash"
    case sourceByteCount = "source_bytes"
    case isFromCache = "from_cache"
    case isStored = "stored"
    case reason = "not_stored_because"
    case timings
  }

  init(_ url: RequestedURL, _ made: UncachedThumbnail) {
    self.url = url
    self.made = made
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try url.encode(to: encoder)
    try container.encode(made.sourceFormat, forKey: .sourceFormat)
    try container.encode(made.sourceWidth, forKey: .sourceWidth)
    try container.encode(made.sourceHeight, forKey: .sourceHeight)
    try container.encode(made.decodePath, forKey: .decodePath)
    try container.encodeIfPresent(made.thumbHash, forKey: .thumbHash)
    try container.encode(made.sourceByteCount, forKey: .sourceByteCount)
    try container.encode(false, forKey: .isFromCache)
    try container.encode(false, forKey: .isStored)
    try container.encodeIfPresent(made.failure?.detail, forKey: .reason)
    try container.encodeIfPresent(made.timings, forKey: .timings)
    try made.thumbnail.encode(to: encoder)
  }
}

/// The destination of the progress of one picture: with `--json` an object for each value, else a line on
/// standard error. A terminal redraws the line; elsewhere there is at most one line a second.
final class ProgressOutput {
  private static let lineInterval = Duration.seconds(1)

  private let source: RequestedURL
  private let isJSON: Bool
  private let context: CommandContext
  private let isOnTerminal = Terminal.isTerminal(2)
  private var line = RedrawnLine()
  /// When the next line may follow where none is redrawn.
  private var nextLineAt = ContinuousClock.now

  /// - Parameter source: what the progress is that of.
  init(of source: RequestedURL, isJSON: Bool, in context: CommandContext) {
    self.source = source
    self.isJSON = isJSON
    self.context = context
  }

  func show(_ progress: BodyProgress, at now: ContinuousClock.Instant = .now) {
    if isJSON {
      try? context.output.write(json: DownloadReport(progress, of: source))
      try? context.output.flush()
    } else if isOnTerminal {
      context.redraw(line.draw(HumanText.download(progress)))
    } else if nextLineAt <= now {
      nextLineAt = now + Self.lineInterval
      context.note(HumanText.download(progress) + "\n")
    }
  }

  /// The picture has arrived, or never will: other text takes the line.
  func end() {
    context.redraw(line.erase())
  }
}

/// What `imgctl get --progress --json` prints while a picture arrives.
struct DownloadReport: Encodable {
  private let url: RequestedURL
  private let progress: BodyProgress

  init(_ progress: BodyProgress, of url: RequestedURL) {
    self.url = url
    self.progress = progress
  }

  func encode(to encoder: any Encoder) throws {
    try url.encode(to: encoder)
    try progress.encode(to: encoder)
  }
}

/// What `imgctl get --incremental --json` prints for a preview.
struct PreviewReport: Encodable {
  private let number: Int
  private let url: RequestedURL
  private let thumbnail: Thumbnail

  private enum CodingKeys: String, CodingKey {
    case number = "preview"
  }

  init(_ preview: PicturePreview, of url: RequestedURL) {
    self.url = url
    number = preview.number
    thumbnail = preview.thumbnail
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try url.encode(to: encoder)
    try thumbnail.encode(to: encoder)
  }
}
