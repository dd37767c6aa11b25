package import ImgClient
import ImgHTTP
import ImgModel

/// What a client asks of `/v2/list`: a page of the lines of a job, or of the thumbnails of the store.
package struct ListQuery: Hashable, Sendable {
  /// What came of a line.
  package enum Outcome: String, Hashable, Sendable, CaseIterable {
    case done, failed
  }

  /// Where a page begins.
  package enum Position: Hashable, Sendable {
    /// After a line of the job, counted from 0.
    case line(Int)
    /// After a record of the store.
    case record(CacheRecord.ID)
  }

  /// From 1.
  package var page = 1
  /// The maximum number of entries.
  package var limit = Self.standardLimit
  /// `nil` for the store.
  package var job: ImageJob.ID?
  /// A part of the URL; letters of ASCII are equal in either case. `nil` for all URLs.
  package var text: String?
  /// `nil` for all.
  package var outcome: Outcome?
  /// The code of a failure; `nil` for all.
  package var code: String?
  /// `nil` for a page that is found by its number.
  package var after: Position?

  package static let standardLimit = 30
  package static let maximumLimit = 100
  /// No list is longer than the lines of this page.
  package static let maximumPage = 1_000_000_000
  package static let maximumTextByteCount = 128

  package init() {}

  /// Reads the parameters as Picsum does: a page and a limit that are none are the defaults. Whatever picks
  /// entries is refused if it is wrong, because another list would be the answer. Other parameters are
  /// ignored.
  ///
  /// - Throws: 422.
  package init(_ parameters: QueryParameters) throws(RequestRejection) {
    page = min(max(Self.number(parameters["page"]) ?? 1, 1), Self.maximumPage)
    limit = min(Self.number(parameters["limit"]) ?? Self.standardLimit, Self.maximumLimit)
    if limit < 1 { limit = Self.standardLimit }
    job = try Self.value("job", in: parameters).map(Self.job)
    text = try Self.value("q", in: parameters).map(Self.text)
    outcome = try Self.value("outcome", in: parameters).map(Self.outcome)
    code = try Self.value("code", in: parameters).map(Self.code)
    after = try Self.value("after", in: parameters).map { value throws(RequestRejection) in
      try Self.position(value, ofJob: job != nil)
    }
    guard job != nil || (outcome == nil && code == nil) else {
      throw .invalidOption(
        outcome == nil ? "code" : "outcome", "picks lines of a job; add job=ID, or leave it out")
    }
  }

  private static func number(_ text: String?) -> Int? {
    text.flatMap { Int($0) }
  }

  /// `nil` for an empty value, too, as a form sends it.
  private static func value(_ name: String, in parameters: QueryParameters) -> OptionValue? {
    parameters[name].flatMap { $0.isEmpty ? nil : OptionValue(name: name, text: $0) }
  }

  private static func job(_ value: OptionValue) throws(RequestRejection) -> ImageJob.ID {
    guard let id = UInt64(value.text), id > 0 else { throw value.invalid("the number of a job") }
    return id
  }

  private static func text(_ value: OptionValue) throws(RequestRejection) -> String {
    guard value.text.utf8.count <= maximumTextByteCount else {
      throw .invalidOption(value.name, "has more than \(maximumTextByteCount) bytes; shorten it")
    }
    return value.text
  }

  private static func outcome(_ value: OptionValue) throws(RequestRejection) -> Outcome {
    guard let outcome = Outcome(rawValue: value.text) else { throw value.invalid("done or failed") }
    return outcome
  }

  private static func code(_ value: OptionValue) throws(RequestRejection) -> String {
    guard value.text.utf8.count <= maximumTextByteCount else {
      throw value.invalid("the code of a failure, such as http_status")
    }
    return value.text
  }

  private static func position(
    _ value: OptionValue, ofJob isJob: Bool
  ) throws(RequestRejection) -> Position {
    if isJob { return .line(try value.wholeNumber(in: 0...Int.max - 1)) }
    guard case .record(let id) = PictureID(value.text) else {
      throw value.invalid("the id of a record, as the link to the next page has it")
    }
    return .record(id)
  }
}

/// A path of Picsum below `/id`.
package enum PicsumPath: Hashable, Sendable {
  /// `/id/{id}`, `/id/{id}/{size}`, `/id/{id}/{width}/{height}`, maybe with `.jpg` or `.webp` at the end.
  case picture(PictureQuery)
  /// `/id/{id}/info`; with `?exif` the metadata, too.
  case info(PictureID, hasMetadata: Bool)
  /// The path of a picture with `/events` at its end: the phases of its load.
  case events(PictureQuery)

  /// - Parameter target: may end with a slash.
  /// - Throws: 400 for a target that cannot be read; 404 for another path and for a text that is no
  ///   ``PictureID``; 422 for an option.
  package init(_ target: RequestTarget) throws(RequestRejection) {
    var segments = target.segments.dropFirst()
    if segments.last?.isEmpty == true { segments.removeLast() }
    let parameters = try target.parameters()
    let hasEvents = segments.count > 1 && segments.last == "events"
    if hasEvents { segments.removeLast() }
    guard target.segments.first == "id", let text = segments.popFirst(),
      let id = PictureID(String(text)), segments.count <= 2, !segments.contains("")
    else { throw Self.unknown }
    if !hasEvents, segments.count == 1, segments.first == "info" {
      try Self.requireNames(["exif"], in: parameters)
      self = .info(id, hasMetadata: parameters["exif"] != nil)
      return
    }
    // `random` tells URLs of the same picture apart, for caches.
    try Self.requireNames(
      ["grayscale", "blur", "random"] + WaitParameters.names, in: parameters)
    let (size, format) = try Self.size(segments)
    let waiting = try WaitParameters(parameters)
    let query = PictureQuery(
      id, size: size, isGrayscale: parameters["grayscale"] != nil,
      blur: try Self.blur(parameters), format: format, wait: try waiting.wait(),
      timeout: waiting.timeout)
    self = hasEvents ? .events(query) : .picture(query)
  }

  private static let unknown = RequestRejection.notFound(
    "there is no such picture; /v2/list names those that there are, such as /id/1-0/300/200")

  private static func requireNames(
    _ names: [String], in parameters: QueryParameters
  ) throws(RequestRejection) {
    for parameter in parameters.parameters where !names.contains(parameter.name) {
      throw .unknownOption(parameter.name, among: names)
    }
  }

  /// Reads `300`, or `300` and `200`, with an extension after the last number.
  private static func size(
    _ segments: ArraySlice<Substring>
  ) throws(RequestRejection) -> (PictureQuery.Size?, ImageVariant.Format?) {
    guard let last = segments.last else { return (nil, nil) }
    let parts = last.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let width = segments.count == 2 ? segments[segments.startIndex] : parts[0]
    let size = PictureQuery.Size(
      width: try side(width, name: "width"), height: try side(parts[0], name: "height"))
    return (size, try parts.count == 2 ? format(parts[1]) : nil)
  }

  private static func side(_ text: Substring, name: String) throws(RequestRejection) -> Int {
    try OptionValue(name: name, text: String(text)).wholeNumber(in: ImageVariant.sideRange)
  }

  private static func format(_ text: Substring) throws(RequestRejection) -> ImageVariant.Format {
    switch text.lowercased() {
    case "jpg": return .jpeg
    case "webp": return .webp
    default: throw OptionValue(name: "extension", text: String(text)).invalid(".jpg or .webp")
    }
  }

  /// Picsum blurs by 5 where the value is no number.
  private static func blur(_ parameters: QueryParameters) throws(RequestRejection) -> Double {
    guard let text = parameters["blur"] else { return 0 }
    let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
    let isNumber = !digits.isEmpty && digits.allSatisfy(\.isDigit)
    return isNumber ? Double(try OptionValue(name: "blur", text: text).wholeNumber(in: 1...10)) : 5
  }
}

/// The name of a picture in lists and in paths below `/id`.
package enum PictureID: Hashable, Sendable {
  /// A line of a job, `{job}-{index}`.
  case line(job: ImageJob.ID, index: Int)
  /// A record of the store.
  case record(CacheRecord.ID)
}

extension PictureID: LosslessStringConvertible {
  /// - Returns: `nil` for a text that ``description`` does not write.
  package init?(_ text: String) {
    if let id = ContentKey(text) {
      self = .record(id)
      return
    }
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let job = UInt64(parts[0]), job > 0, let index = Int(parts[1]) else {
      return nil
    }
    self = .line(job: job, index: index)
    // A name has one spelling: no signs, and no zeros before a number.
    guard description == text else { return nil }
  }

  package var description: String {
    switch self {
    case .line(let job, let index): "\(job)-\(index)"
    case .record(let id): id.description
    }
  }
}

/// What a client asks for below `/id/{id}`: a picture that a list names, in its own size or in another.
package struct PictureQuery: Hashable, Sendable {
  /// A box that a picture is cropped to.
  package struct Size: Hashable, Sendable {
    /// In pixels.
    package let width: Int
    /// In pixels.
    package let height: Int

    package init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }
  }

  package let id: PictureID
  /// `nil` for the size of the thumbnail in the list.
  package let size: Size?
  package let isGrayscale: Bool
  /// The standard deviation in pixels; 0 for none.
  package let blur: Double
  /// `nil` without an extension in the path.
  package let format: ImageVariant.Format?
  /// See ``ImageQuery/wait``.
  package let wait: PictureWait?
  /// See ``ImageRequest/timeout``.
  package let timeout: Duration?

  package init(
    _ id: PictureID, size: Size? = nil, isGrayscale: Bool = false, blur: Double = 0,
    format: ImageVariant.Format? = nil, wait: PictureWait? = nil, timeout: Duration? = nil
  ) {
    self.id = id
    self.size = size
    self.isGrayscale = isGrayscale
    self.blur = blur
    self.format = format
    self.wait = wait
    self.timeout = timeout
  }

  /// Whether the thumbnail is asked for as the list has it.
  package var isAsListed: Bool { self == PictureQuery(id, wait: wait, timeout: timeout) }

  /// The variant that is asked for.
  ///
  /// - Parameter listed: that of the thumbnail in the list.
  package func variant(of listed: ImageVariant) -> ImageVariant {
    var variant = listed
    if let size {
      (variant.width, variant.height) = (size.width, size.height)
      (variant.mode, variant.crop, variant.enlarges) = (.fill, .centre, true)
    }
    if isGrayscale { variant.effects.isGrayscale = true }
    if blur > 0 { variant.effects.blur = Thousandths(blur) }
    if let format { variant.format = format }
    // JPEG, which an extension may ask for, holds one frame.
    if format == .jpeg, variant.frames == .all { variant.frames = .first }
    if !variant.format.holdsWideSamples { variant.depth = .eight }
    return variant
  }
}
