package import ImgClient
import ImgHTTP
import ImgModel

/// Answers with what stands in for a picture. Nothing keeps it under the URL of that one.
struct Substitutes: Sendable {
  private struct Content {
    let body: HTTPBody
    let format: ImageFormat
  }

  let loader: PictureLoader
  let continued: ContinuedLoads

  /// The answer to a request whose picture failed: the failure, unless the request has something for its place.
  ///
  /// - Parameters:
  ///   - wanted: the request for the picture that failed.
  ///   - deadline: of the request. After it, another picture is sent only if it is stored.
  func response(
    for query: ImageQuery, _ wanted: ImageRequest, insteadOf failure: FailureReport,
    until deadline: ContinuousClock.Instant
  ) async -> HTTPResponse {
    // A client that has left needs nothing.
    guard !Task.isCancelled, let substitute = query.fallback else { return failure.response() }
    do throws(ImageError) {
      let content = try await content(substitute, for: query, wanted) { other throws(ImageError) in
        try await loader.image(for: other, within: deadline - .now)
      }
      guard let content else { return failure.response() }
      var response = HTTPResponse(content.body, content.format, in: .failure)
      response.fields.add("X-Imgctl-Failure", failure.code)
      return response
    } catch {
      return failure.followed(by: error).response()
    }
  }

  /// The answer to a request whose picture is loading. Another picture in its place is loaded, too, and is sent if it
  /// is there at once.
  ///
  /// - Parameter age: how long the picture has been loading.
  func response(
    with substitute: Substitute, for query: ImageQuery, _ wanted: ImageRequest,
    whileLoading age: Duration
  ) async -> HTTPResponse {
    let content = try? await content(substitute, for: query, wanted) { other throws(ImageError) in
      if case .hit(let entry) = try loader.images.find(other, at: .now) {
        return .image(entry.image)
      }
      guard case .ended(let result) = await continued.progress(of: other, within: .zero) else {
        return .noLoad
      }
      return try result.get()
    }
    let sent = content ?? Self.drawing(.none, for: query)
    var response = HTTPResponse(sent.body, sent.format, in: .empty)
    // A page that shows the picture alone loads itself again. Other clients read the other field.
    let pause = "\(Self.pause(after: age))"
    response.fields.add("Retry-After", pause)
    response.fields.add("Refresh", pause)
    return response
  }

  /// In seconds. Who waits for a slow picture asks the less often the longer it takes.
  private static func pause(after age: Duration) -> Int64 {
    min(max(1, age.secondsRoundedUp), maximumPause)
  }

  private static let maximumPause: Int64 = 10

  /// - Parameter load: has the other picture, if a substitute is one.
  /// - Returns: `nil` if the other picture is not there.
  private func content(
    _ substitute: Substitute, for query: ImageQuery, _ wanted: ImageRequest,
    load: (ImageRequest) async throws(ImageError) -> PictureLoader.Outcome
  ) async throws(ImageError) -> Content? {
    switch substitute {
    case .placeholder(let placeholder): return Self.drawing(placeholder, for: query)
    case .thumbHash: return Self.drawing(loader.blurredPicture(of: wanted), for: query)
    case .picture(let url):
      var other = wanted
      other.url = url
      guard case .image(let image) = try await load(other) else { return nil }
      return Content(body: image.body, format: image.format)
    }
  }

  private static func drawing(_ placeholder: ImagePlaceholder, for query: ImageQuery) -> Content {
    let size = query.box.drawingSize
    return Content(
      body: HTTPBody(placeholder.svg(width: size.width, height: size.height)), format: .svg)
  }
}

extension HTTPResponse {
  fileprivate init(_ body: HTTPBody, _ format: ImageFormat, in phase: LoadPhase) {
    self.init(
      .ok,
      fields: [
        "Content-Type": format.mediaType, "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff", LoadPhase.fieldName: phase.rawValue,
      ],
      body: .bytes(body))
    guard format == .svg else { return }
    // A page in a sandbox without scripts does not load itself again (HTML, "sandboxed automatic features"). The
    // first directive forbids scripts nevertheless.
    let permission = phase == .empty ? " allow-scripts" : ""
    fields.add(
      "Content-Security-Policy", "default-src 'none'; img-src data:; sandbox\(permission)")
  }
}

extension PictureLoader {
  /// The blurred picture of a thumbnail of the same picture that is stored in a variant that is often there: in the
  /// size of the request in any format, or as jobs make it by themselves.
  func blurredPicture(of request: ImageRequest) -> ImagePlaceholder {
    let others = ImageVariant.Format.allCases.map { format in
      var variant = request.variant
      variant.format = format
      return variant
    }
    for variant in others + [.standard] {
      var other = request
      other.variant = variant
      // What is wrong with a variant is told by its own request.
      if let hash = (try? client.cachedImage(for: other, bytesUpTo: 0))?.thumbHash {
        return .thumbHash(hash)
      }
    }
    return .none
  }
}

/// What stands in for a picture: until it is there, or because it failed.
package enum Substitute: Hashable, Sendable {
  /// A drawing.
  case placeholder(ImagePlaceholder)
  /// The blurred picture of the ThumbHash that the store has of it; transparent if there is none.
  case thumbHash
  /// Another picture, as a thumbnail of the same variant.
  case picture(url: String)

  private static let textPrefix = "text:"
  /// Of a text, in letters. No picture has room for more.
  private static let maximumTextLength = 64

  /// Reads `blank`, the name of a symbol such as `photo`, a colour with `#`, `thumbhash`, `text:` and a text, or an
  /// address. A host without a dot, and one that is named `text`, needs its scheme.
  ///
  /// - Throws: 400 for an address that is none; 422 for another value that is none.
  init(_ value: OptionValue) throws(RequestRejection) {
    let text = value.text
    if text == "blank" {
      self = .placeholder(.none)
    } else if text == "thumbhash" {
      self = .thumbHash
    } else if let symbol = ImagePlaceholder.Symbol(rawValue: text) {
      self = .placeholder(.symbol(symbol))
    } else if text.hasPrefix("#") {
      self = .placeholder(.colour(try ColourText.colour(value)))
    } else if text.hasPrefix(Self.textPrefix) {
      self = .placeholder(.text(try Self.text(value)))
    } else {
      self = .picture(url: try Self.url(value))
    }
  }

  private static func text(_ value: OptionValue) throws(RequestRejection) -> String {
    let text = value.text.dropFirst(textPrefix.count)
    guard !text.isEmpty, text.utf8.count <= 4 * maximumTextLength, text.count <= maximumTextLength
    else { throw value.invalid("text: and 1 to \(maximumTextLength) letters") }
    return String(text)
  }

  private static func url(_ value: OptionValue) throws(RequestRejection) -> String {
    guard value.text.utf8.contains(where: { ".:/".utf8.contains($0) }) else {
      throw value.invalid(
        "blank, thumbhash, circle, cloud, person, photo, text:AB, a colour such as #eee, or an address such "
          + "as https://example.org/a.jpg")
    }
    return try SourceAddress.completed(value.text).text
  }
}

/// How long a request waits for its picture, and what it gets in its place then.
package struct PictureWait: Hashable, Sendable {
  /// From the request to its answer.
  package let limit: Duration
  package let substitute: Substitute

  /// In milliseconds. A proxy gives up after about as long.
  package static let range = 0...60_000

  package init(_ limit: Duration, then substitute: Substitute = .thumbHash) {
    self.limit = limit
    self.substitute = substitute
  }
}

/// The parameters of this server alone, `wait`, `placeholder` and `timeout`, in whatever form of a request.
struct WaitParameters {
  static let waitName = "wait"
  static let placeholderName = "placeholder"
  static let timeoutName = "timeout"
  static let names = [waitName, placeholderName, timeoutName]

  /// See ``ImageRequest/timeout``; `nil` for that of the server.
  private(set) var timeout: Duration?
  private var limit: Duration?
  private var substitute: Substitute?

  init() {}

  /// Reads them in a query that has others, too.
  ///
  /// - Throws: 400.
  init(_ parameters: QueryParameters) throws(RequestRejection) {
    if let text = parameters[Self.waitName] {
      try readWait(OptionValue(name: Self.waitName, text: text))
    }
    if let text = parameters[Self.placeholderName] {
      try readPlaceholder(OptionValue(name: Self.placeholderName, text: text))
    }
    if let text = parameters[Self.timeoutName] {
      try readTimeout(OptionValue(name: Self.timeoutName, text: text))
    }
  }

  /// - Throws: 400 for what is not a time of ``PictureWait/range``.
  mutating func readWait(_ value: OptionValue) throws(RequestRejection) {
    limit = try Self.time(value, in: PictureWait.range, from: "0, which waits for nothing,")
  }

  /// - Throws: 400 for what is not a time of ``timeoutRange``.
  mutating func readTimeout(_ value: OptionValue) throws(RequestRejection) {
    timeout = try Self.time(value, in: Self.timeoutRange, from: "1")
  }

  /// In milliseconds. The server's own limit counts, too.
  private static let timeoutRange = 1...86_400_000

  /// Reads whole milliseconds.
  ///
  /// - Parameter lowest: the least of the range, in words.
  /// - Throws: 400 for another text.
  private static func time(
    _ value: OptionValue, in range: ClosedRange<Int>, from lowest: String
  ) throws(RequestRejection) -> Duration {
    guard !value.isEmpty, value.text.utf8.allSatisfy(\.isDigit), let count = Int(value.text),
      range.contains(count)
    else {
      throw value.invalid("whole milliseconds from \(lowest) to \(range.upperBound)").asBadRequest
    }
    return .milliseconds(count)
  }

  /// - Throws: 400.
  mutating func readPlaceholder(_ value: OptionValue) throws(RequestRejection) {
    do throws(RequestRejection) {
      substitute = try Substitute(value)
    } catch {
      throw error.asBadRequest
    }
  }

  /// - Returns: `nil` for a request that waits until the picture is there or has failed.
  /// - Throws: 400 for a placeholder that nothing leads to.
  func wait() throws(RequestRejection) -> PictureWait? {
    guard let limit else {
      guard substitute == nil else {
        throw RequestRejection.invalidOption(
          Self.placeholderName,
          "needs the option \(Self.waitName), after whose time it is sent; add it, such as \(Self.waitName)=0"
        ).asBadRequest
      }
      return nil
    }
    return PictureWait(limit, then: substitute ?? .thumbHash)
  }
}

extension RequestRejection {
  /// The same for a parameter that chooses no picture, so that there is no content to be processed.
  fileprivate var asBadRequest: RequestRejection {
    RequestRejection(.badRequest, code: code, message)
  }
}
