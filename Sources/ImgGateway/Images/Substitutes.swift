import ImgClient
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
