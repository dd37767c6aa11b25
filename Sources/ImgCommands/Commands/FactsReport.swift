import FoundationEssentials
import ImgClient
import ImgFacts
import ImgModel
import ImgSettings

/// What `imgctl info --json` prints for a picture: its facts, and how they were read.
struct FactsReport: Encodable {
  /// How facts came from a URL.
  enum Fetch {
    case stored(CacheRecord, isFromCache: Bool)
    case uncached(UncachedThumbnail)
  }

  let url: RequestedURL
  let record: FactsRecord
  /// ``FactsRecord/facts`` without what was not asked for.
  let facts: PictureFacts
  /// The media type that the origin or the name claims, if the picture is of another format.
  let declaredType: String?
  /// `nil` for a local picture.
  let fetch: Fetch?
  /// Whether no origin was asked, whatever it came from.
  private var isLocal = false
  /// The line's index in a list.
  var index: Int?
  /// Where the line stands in the list.
  var place: LinePlace?

  /// The facts of a local picture.
  ///
  /// - Parameter path: `-` for standard input.
  init(_ record: FactsRecord, of url: RequestedURL, named path: String, showsPlace: Bool) {
    self.init(record, of: url, named: path, fetch: nil, showsPlace: showsPlace)
  }

  /// The facts of a URL.
  ///
  /// - Parameter json: a ``FactsRecord``.
  init(
    json: [UInt8], of url: RequestedURL, _ imageURL: ImageURL, fetch: Fetch, showsPlace: Bool
  ) throws {
    let record = try FactsRecord(json: json)
    let path = imageURL.isLocal ? "" : imageURL.text.prefix { $0 != "?" }
    self.init(
      record, of: url, named: String(path), fetch: fetch, showsPlace: showsPlace)
    isLocal = imageURL.isLocal
  }

  private init(
    _ record: FactsRecord, of url: RequestedURL, named path: String, fetch: Fetch?,
    showsPlace: Bool
  ) {
    self.url = url
    self.record = record
    self.fetch = fetch
    declaredType = DeclaredType(record.declaredType, path: path).contradicting(record.facts.format)
    var facts = record.facts
    if !showsPlace {
      facts.gps = nil
      facts.xmp?.packet = nil
    }
    self.facts = facts
  }

  /// Bytes of bodies that the origin sent for this request; `nil` for a local picture.
  var bytesFetched: Int64? {
    if isLocal { return nil }
    return switch fetch {
    case .stored(let stored, let isFromCache): isFromCache ? 0 : Int64(stored.source.byteCount)
    case .uncached(let made): Int64(made.source.byteCount)
    case nil: nil
    }
  }

  var isFromCache: Bool? {
    switch fetch {
    case .stored(_, let isFromCache): isFromCache
    case .uncached: false
    case nil: nil
    }
  }

  func encode(to encoder: any Encoder) throws {
    let stored: CacheRecord? = if case .stored(let stored, _) = fetch { stored } else { nil }
    try JSONObject(
      [
        "index": index, "line": place?.line, "status": record.status, "declared_type": declaredType,
        "file_bytes": record.byteCount, "bytes_fetched": bytesFetched, "from_cache": isFromCache,
        "stored_at": stored?.storageTime, "expires_at": stored?.expiryTime,
        "pixels_failure": record.pixelsFailure,
      ], beside: url, facts, record.pixels
    ).encode(to: encoder)
  }
}

extension FactsRecord {
  /// - Parameter json: as a worker writes it.
  init(json: [UInt8]) throws {
    self = try JSONDecoder().decode(FactsRecord.self, from: Data(json))
  }
}

/// What an origin or a file name claims a picture to be.
struct DeclaredType {
  private let text: String?
  private let format: ImageFormat?

  /// - Parameters:
  ///   - mediaType: of the origin, in lower case; `nil` without one. It has the word before the name.
  ///   - path: a file name, or a URL without its query.
  init(_ mediaType: String?, path: String) {
    if let mediaType, !Self.meaningless.contains(mediaType) {
      text = mediaType
      format = ImageFormat(mediaType: mediaType)
    } else {
      format = ImageFormat(extensionOf: path)
      text = format?.mediaType
    }
  }

  /// What servers send that do not know.
  private static let meaningless: Set = [
    "application/octet-stream", "binary/octet-stream", "application/x-unknown", "image/*",
  ]

  /// The claim, if the picture is of another format; `nil` if it is right, or there is none.
  func contradicting(_ actual: ImageFormat) -> String? {
    guard format != actual else { return nil }
    return text
  }
}

extension ImageFormat {
  /// The format of a media type, as IANA registers it or as servers used to write it; `nil` for any
  /// other.
  fileprivate init?(mediaType: String) {
    switch mediaType {
    case "image/jpg", "image/pjpeg", "image/jfif": self = .jpeg
    case "image/apng", "image/x-png", "image/vnd.mozilla.apng": self = .png
    case "image/heic", "image/heic-sequence", "image/heif-sequence": self = .heif
    case "image/avif-sequence": self = .avif
    case "image/x-icon", "image/ico", "image/icon", "image/x-win-bitmap": self = .ico
    case "image/x-ms-bmp", "image/x-bmp", "image/x-windows-bmp": self = .bmp
    case "image/x-portable-bitmap", "image/x-portable-graymap", "image/x-portable-pixmap",
      "image/x-portable-arbitrarymap", "image/x-portable-floatmap":
      self = .pnm
    case "image/x-tiff": self = .tiff
    case "image/jpx", "image/jpm", "image/j2c", "image/jpeg2000": self = .jp2
    case "image/svg": self = .svg
    default:
      guard let format = ImageFormat.allCases.first(where: { $0.mediaType == mediaType }) else {
        return nil
      }
      self = format
    }
  }
}

/// The facts of a picture for people: aligned lines, the unknown ones left out.
struct FactsText {
  private let report: FactsReport
  private var facts: PictureFacts { report.facts }

  init(_ report: FactsReport) {
    self.report = report
  }

  /// All lines, each with a line feed.
  var text: String {
    let lines = lines.compactMap { name, value in value.map { (name, $0) } }
    let width = lines.map(\.0.count).max() ?? 0
    return lines.map { name, value in
      let space = String(repeating: " ", count: width - name.count)
      return "\(name)\(space)  \(HumanText.printable(value))\n"
    }.joined()
  }

  private var lines: [(String, String?)] {
    [
      ("type", [facts.mediaType, facts.encoding].compactMap(\.self).joined(separator: ", ")),
      ("declared", report.declaredType.map { "\($0), which is wrong" }),
      ("size", size), ("pictures", facts.pictureCount.map(String.init)), ("frames", frames),
      ("colour", colour), ("colour space", colourSpace),
      ("interlaced", facts.isInterlaced == true ? "yes" : nil),
      ("profile", facts.profileDescription), ("title", facts.xmp?.title),
      ("camera", camera), ("taken", facts.exif?.exif["DateTimeOriginal"]?.text),
      ("rights", facts.xmp?.rights ?? facts.exif?.ifd0["Copyright"]?.text), ("place", place),
      ("thumbnail", facts.thumbnail.map { "\($0.width)x\($0.height) \($0.format.rawValue)" }),
      ("thumbhash", report.record.pixels?.thumbHash.text),
      ("blurhash", report.record.pixels?.blurHash.text), ("colours", colours),
      ("pixels", report.record.pixelsFailure.map { "not decoded: \($0)" }),
      ("status", status), ("bytes", bytes),
    ]
  }

  private var size: String {
    let shown = "\(facts.width)x\(facts.height)"
    guard facts.orientation != 1 else { return shown }
    return shown
      + ", stored as \(facts.storedWidth)x\(facts.storedHeight) with orientation \(facts.orientation)"
  }

  private var frames: String? {
    guard let count = facts.frameCount else { return uncountedFrames }
    guard count > 1 || facts.isAnimated == true else { return nil }
    var parts = ["\(count)"]
    if let duration = facts.duration {
      parts.append(HumanText.exactDuration(milliseconds: duration))
    }
    return (parts + [loops].compactMap(\.self)).joined(separator: ", ")
  }

  private var loops: String? {
    guard facts.isAnimated == true else { return nil }
    return facts.loopCount.map {
      $0 == 0 ? "plays forever" : "plays " + HumanText.count($0, of: "time")
    }
  }

  /// An animation whose frames were not counted, with the option that counts them.
  private var uncountedFrames: String? {
    guard facts.isAnimated == true || counter != nil else { return nil }
    let state = facts.isAnimated == true ? "animated, not counted" : "not counted"
    let text = [state, loops].compactMap(\.self).joined(separator: ", ")
    return text + (counter.map { "; \($0) counts them" } ?? "")
  }

  private var counter: String? {
    switch facts.format {
    case .gif, .webp: report.record.status == .complete ? InfoCommand.full.flag : nil
    case .jxl where facts.isAnimated == true:
      report.record.pixelsFailure == nil ? InfoCommand.full.flag : nil
    default: nil
    }
  }

  private var colour: String? {
    var parts = [facts.colourModel?.rawValue].compactMap(\.self)
    if let bits = facts.bitsPerSample {
      parts.append("\(bits) bits" + (facts.bands.map { " x \($0)" } ?? ""))
    }
    if facts.hasAlpha == true { parts.append("alpha") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// What counts of the descriptions in the file.
  private var colourSpace: String? {
    guard let colours = facts.colours else { return nil }
    var parts = [colours.primaries, colours.transfer].compactMap(\.self)
    if let matrix = colours.matrix { parts.append("matrix \(matrix)") }
    if let range = colours.range { parts.append("\(range) range") }
    if let isHDR = colours.isHDR { parts.append(isHDR ? "HDR" : "SDR") }
    return (parts + ["by \(colours.origin.name)"]).joined(separator: ", ")
  }

  private var camera: String? {
    let names = ["Make", "Model"].compactMap { facts.exif?.ifd0[$0]?.text }
    return names.isEmpty ? nil : names.joined(separator: " ")
  }

  private var place: String? {
    guard let latitude = facts.gps?.latitude, let longitude = facts.gps?.longitude else {
      return nil
    }
    return "\(latitude), \(longitude)"
  }

  /// The most frequent first.
  private var colours: String? {
    guard let palette = report.record.pixels?.palette, !palette.isEmpty else { return nil }
    return palette.map { "\($0.colour.cssText) \(Int(($0.share * 100).rounded())) %" }
      .joined(separator: ", ")
  }

  private var status: String? {
    switch report.record.status {
    case .complete: nil
    case .truncated: "truncated: the file ends before its metadata, its pixels or its last frame"
    case .damaged: "damaged: its metadata or its pixels cannot be read to the end"
    case .limited: "limited: more bytes or a decoder would be necessary for the rest"
    }
  }

  private var bytes: String? {
    let whole = report.record.byteCount.map { HumanText.size(Int64($0)) }
    let course: String? =
      switch report.isFromCache {
      case nil: nil
      case true?: "from the store"
      case false?: report.bytesFetched.map { "\(HumanText.size($0)) fetched" }
      }
    let parts = [whole, course].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}

extension ColourDescription.Origin {
  fileprivate var name: String {
    switch self {
    case .codePoints: "code points (CICP)"
    case .profile: "its profile"
    case .standard: "its mark as sRGB"
    case .gamma: "gAMA and cHRM"
    }
  }
}
