import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import Testing

@testable import ImgGateway

/// What the fields of an answer say of a thumbnail.
struct PreparedImageTests {
  /// 2026-11-24T12:00:00Z.
  private static let stored = Date(timeIntervalSince1970: 1_795_521_600)
  private static let now = WallTime(rawValue: 1_795_521_700_000)

  private func image(isStored: Bool = true, bytes: [UInt8] = [1, 2, 3]) -> PreparedImage {
    PreparedImage(
      LoadedImage(
        bytes: bytes, format: .webp, width: 1, height: 1,
        source: SourcePicture(format: .png, width: 1, height: 1, byteCount: 1),
        storedAt: isStored ? Self.stored : nil, expiresAt: isStored ? Self.stored + 600 : nil,
        origin: .store))
  }

  private func response(
    _ image: PreparedImage, _ fields: HTTPFields = [:],
    _ change: (inout ImageQuery) -> Void = { _ in }
  ) -> HTTPResponse {
    var query = ImageQuery("https://a.example/b")
    change(&query)
    return image.response(to: HTTPRequest(.get, "/", fields: fields), for: query, at: Self.now)
  }

  @Test func `a thumbnail may be kept until it expires in the store`() {
    let response = response(image())
    #expect(response.status == .ok)
    #expect(response.fields["Cache-Control"] == "public, max-age=600")
    #expect(response.fields["Age"] == "100")
    #expect(response.fields["Expires"] == "Tue, 24 Nov 2026 12:10:00 GMT")
    #expect(response.fields["Last-Modified"] == "Tue, 24 Nov 2026 12:00:00 GMT")
    #expect(response.fields["Content-Type"] == "image/webp")
    #expect(response.fields["X-Content-Type-Options"] == "nosniff")
    #expect(response.fields["Vary"] == "Accept")
    #expect(response.bytes == [1, 2, 3])
  }

  @Test func `a request may shorten the time, and not lengthen it`() {
    let short = response(image()) { $0.maximumAge = .seconds(60) }
    #expect(short.fields["Cache-Control"] == "public, max-age=160")
    #expect(short.fields["Expires"] == "Tue, 24 Nov 2026 12:02:40 GMT")
    let long = response(image()) { $0.maximumAge = .seconds(6_000) }
    #expect(long.fields["Cache-Control"] == "public, max-age=600")
  }

  @Test func `an answer may be kept until its request ends, whenever that is sent`() {
    let end = Self.now.advanced(by: .seconds(30))
    let response = response(image()) { $0.expiresAt = end }
    #expect(response.fields["Cache-Control"] == "public, max-age=130")
    #expect(response.fields["Expires"] == "Tue, 24 Nov 2026 12:02:10 GMT")
    let late = self.response(image()) { $0.expiresAt = Self.now.advanced(by: .seconds(-5)) }
    #expect(late.fields["Cache-Control"] == "public, max-age=100")
    #expect(late.fields["Expires"] == "Tue, 24 Nov 2026 12:01:40 GMT")
    let both = self.response(image()) { ($0.expiresAt, $0.maximumAge) = (end, .seconds(20)) }
    #expect(both.fields["Cache-Control"] == "public, max-age=120")
  }

  @Test func `nothing keeps a thumbnail that is not stored`() {
    let response = response(image(isStored: false))
    #expect(response.fields["Cache-Control"] == "no-store")
    #expect(response.fields["Age"] == nil)
    #expect(response.fields["Expires"] == nil)
    #expect(response.fields["Last-Modified"] == nil)
  }

  @Test func `only a negotiated format depends on what the client accepts`() {
    #expect(response(image()) { $0.format = .fixed }.fields["Vary"] == nil)
  }

  @Test func `the validator is that of the bytes`() {
    #expect(image().entityTag == image(isStored: false).entityTag)
    #expect(image().entityTag != image(bytes: [1, 2, 4]).entityTag)
  }

  @Test func `a client that has the bytes gets 304 with the fields that matter to caches`() {
    let tag = image().entityTag
    for value in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
      let response = response(image(), ["If-None-Match": value])
      #expect(response.status == .notModified, "\(value)")
      #expect(response.fields["ETag"] == tag)
      #expect(response.fields["Cache-Control"] == "public, max-age=600")
      #expect(response.fields["Vary"] == "Accept")
      #expect(response.fields["Content-Type"] == nil)
    }
    #expect(response(image(), ["If-None-Match": "\"other\""]).status == .ok)
  }

  @Test func `a date counts where there is no entity tag`() {
    let same = "Tue, 24 Nov 2026 12:00:00 GMT"
    let earlier = "Tue, 24 Nov 2026 11:59:59 GMT"
    #expect(response(image(), ["If-Modified-Since": same]).status == .notModified)
    #expect(response(image(), ["If-Modified-Since": earlier]).status == .ok)
    #expect(response(image(), ["If-Modified-Since": "yesterday"]).status == .ok)
    #expect(response(image(isStored: false), ["If-Modified-Since": same]).status == .ok)
    let both: HTTPFields = ["If-None-Match": "\"other\"", "If-Modified-Since": same]
    #expect(response(image(), both).status == .ok)
  }

  @Test func `a client that wants another thumbnail gets 412`() {
    let tag = image().entityTag
    for value in [tag, "\"other\", \(tag)", "*"] {
      #expect(response(image(), ["If-Match": value]).status == .ok, "\(value)")
    }
    // A weak tag does not tell that the bytes are the same.
    for value in ["\"other\"", "W/\(tag)"] {
      let response = response(image(), ["If-Match": value])
      #expect(response.status == .preconditionFailed, "\(value)")
      #expect(response.fields["Cache-Control"] == "no-store")
    }
    let same = "Tue, 24 Nov 2026 12:00:00 GMT"
    let earlier = "Tue, 24 Nov 2026 11:59:59 GMT"
    let dates = [(same, HTTPStatus.ok), (earlier, .preconditionFailed), ("yesterday", .ok)]
    for (date, status) in dates {
      #expect(response(image(), ["If-Unmodified-Since": date]).status == status, "\(date)")
    }
    #expect(response(image(), ["If-Match": tag, "If-Unmodified-Since": earlier]).status == .ok)
    #expect(response(image(), ["If-Match": tag, "If-None-Match": tag]).status == .notModified)
  }

  @Test(
    arguments: [
      ("a.jpg", false, "inline; filename=\"a.webp\""),
      ("my.photo.png", true, "attachment; filename=\"my.photo.webp\""),
      ("日本", false, "inline; filename=\"image.webp\"; filename*=UTF-8''%e6%97%a5%e6%9c%ac.webp"),
      ("été", false, "inline; filename=\"t.webp\"; filename*=UTF-8''%c3%a9t%c3%a9.webp"),
      (
        "a\"b\\c/d\r\n", false,
        "inline; filename=\"abcd.webp\"; filename*=UTF-8''a%22b%5cc%2fd%0d%0a.webp"
      ),
    ])
  func `a name of a file is part of the answer without what could end it`(
    name: String, isAttachment: Bool, text: String
  ) {
    let response = response(image()) { query in
      query.fileName = name
      query.isAttachment = isAttachment
    }
    #expect(response.fields["Content-Disposition"] == text)
  }

  @Test(
    arguments: [
      (.imgproxy, "https://h.example/x/photo%20one.png?v=1", "photo one.webp"),
      (.imgproxy, "https://h.example/", "image.webp"), (.imgproxy, "data:,a/b", "image.webp"),
      (.weserv, "https://h.example/photo.png", "image.webp"),
      (.picsum(id: "3-0"), "https://h.example/photo.png", "3-0.webp"),
    ] as [(ImageQuery.Service, String, String)])
  func `a picture without a name has the one of its server`(
    service: ImageQuery.Service, url: String, name: String
  ) {
    let response = response(image()) { query in
      query.service = service
      query.request.url = url
    }
    #expect(response.fields["Content-Disposition"] == "inline; filename=\"\(name)\"")
  }

  @Test func `an answer has the fields of its server`() {
    let shared = response(image()) { $0.isShared = true }
    #expect(shared.fields["Access-Control-Allow-Origin"] == "*")
    #expect(shared.fields["Cross-Origin-Resource-Policy"] == "cross-origin")
    #expect(shared.fields["Timing-Allow-Origin"] == "*")
    #expect(shared.fields["Link"] == "<https://a.example/b>; rel=\"canonical\"")
    let secret = response(image()) { $0.request.url = "https://u:secret@a.example/b" }
    #expect(secret.fields["Link"]?.contains("secret") == false)
    let imgproxy = response(image()) { $0.service = .imgproxy }
    #expect(imgproxy.fields["Link"] == nil)
    #expect(imgproxy.fields["Access-Control-Allow-Origin"] == nil)
    #expect(response(image()) { $0.service = .picsum(id: "3-0") }.fields["Picsum-ID"] == "3-0")
  }

  @Test func `a picture without a box that the limit of sides made smaller says so`() {
    func field(_ change: (inout ImageQuery) -> Void) -> String? {
      let image = PreparedImage(GatewayFixture.image(bytes: [1]))
      var query = ImageQuery("https://a.example/b")
      query.request.variant.mode = .ownSize
      change(&query)
      return image.response(to: HTTPRequest(.get, "/"), for: query, at: Self.now)
        .fields["X-Imgctl-Limit"]
    }
    // It is 4 pixels wide, and was made from 40.
    #expect(field { _ in } == "maximum-side")
    #expect(field { $0.box.density = 0.1 } == nil)
    #expect(field { $0.box.width = 4 } == nil)
  }
}

/// How long an answer is sent again as it is.
struct TimedAnswerTests {
  /// 2026-11-24T12:00:00Z.
  private static let stored: Int64 = 1_795_521_600_000
  private static let now = WallTime(rawValue: stored + 100_700)

  private func answer(until end: WallTime) -> TimedAnswer {
    let date = Date(timeIntervalSince1970: Double(Self.stored / 1_000))
    let image = PreparedImage(
      LoadedImage(
        bytes: [1, 2, 3], format: .webp, width: 1, height: 1,
        source: SourcePicture(format: .png, width: 1, height: 1, byteCount: 1),
        storedAt: date, expiresAt: date + 600, origin: .store))
    let response = image.response(
      to: HTTPRequest(.get, "/"), for: ImageQuery("https://a.example/b"), at: Self.now)
    return TimedAnswer(response, of: image, from: Self.now, until: end)
  }

  @Test func `an answer is valid until its age in seconds changes`() {
    let answer = answer(until: Self.now.advanced(by: .seconds(1)))
    #expect(answer.response.response.fields["Age"] == "100")
    #expect(answer.isValid(at: Self.now))
    #expect(answer.isValid(at: WallTime(rawValue: Self.stored + 100_999)))
    #expect(!answer.isValid(at: WallTime(rawValue: Self.stored + 101_000)))
  }

  @Test func `an answer is valid until its image must be compared with the store`() {
    let end = Self.now.advanced(by: .milliseconds(100))
    #expect(answer(until: end).isValid(at: end.advanced(by: .milliseconds(-1))))
    #expect(!answer(until: end).isValid(at: end))
    #expect(!answer(until: Self.now.advanced(by: .seconds(-1))).isValid(at: Self.now))
  }

  @Test func `an answer is not valid before it was made, as after a clock was set back`() {
    let answer = answer(until: Self.now.advanced(by: .seconds(1)))
    #expect(!answer.isValid(at: Self.now.advanced(by: .milliseconds(-1))))
  }

  @Test func `a kept answer is for requests without conditions`() async throws {
    let fixture = try GatewayFixture()
    fixture.serve("https://a.example/b")
    let target = "/image?url=https://a.example/b"
    for _ in 1...3 { #expect(await fixture.response(.get, target).status == .ok) }
    let tag = try #require(await fixture.response(.get, target).fields["ETag"])
    #expect(await fixture.response(.get, target, ["If-None-Match": tag]).status == .notModified)
    #expect(await fixture.response(.get, target).bytes == [1, 2, 3])
  }
}

@Suite struct AcceptedFormatsTests {
  private func format(
    _ accept: String?, frames: ImageVariant.Frames = .first,
    depth: ImageVariant.Depth = .eight
  ) -> ImageVariant.Format? {
    var query = ImageQuery("https://h/a")
    query.request.variant.frames = frames
    query.request.variant.depth = depth
    return AcceptedFormats(accept).format(for: query)
  }

  @Test(
    arguments: [
      (nil, .compatible), ("", .compatible), ("*/*", .compatible), ("image/*", .compatible),
      ("image/png,image/*;q=0.8", .compatible), ("image/png", .png),
      ("image/png,image/jpeg", .compatible),
      ("image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", .compatible),
      ("image/png,image/jpeg,image/webp;q=0.5", .compatible),
      ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", .avif),
      ("image/webp,*/*", .webp), ("IMAGE/WEBP ; Q=0.9 , */*;q=0.1", .webp),
      ("image/avif;q=0.5,image/webp;q=0.9", .webp), ("image/webp,image/avif", .avif),
      ("image/avif;q=0.3,image/*;q=0.8", .compatible), ("image/avif;q=0,image/webp", .webp),
      ("image/avif;q=0.000", .compatible), ("image/webp;q=0,*/*", .compatible),
      ("image/jpeg", .jpeg),
      ("text/html", .compatible), ("image/avif;q=2,image/webp;q=0.5", .webp),
      ("image/avif;q=nan", .compatible),
      ("image/avif;q=0.1234", .compatible), ("image/avif;q=", .compatible),
      ("image/avif;level=1;q=0.5", .avif),
      ("webp", .compatible), (",,;;,", .compatible), ("image/jpeg;q=0.9,image/webp;q=0.8", .auto),
    ] as [(String?, ImageVariant.Format)])
  func `the best format of a client`(accept: String?, expected: ImageVariant.Format) {
    #expect(format(accept) == expected)
  }

  @Test(
    arguments: [
      ("image/avif,image/webp", .webp), ("image/avif", .gif), ("*/*", .gif),
      ("image/gif,image/webp;q=0", .gif), ("image/gif,image/webp;q=0.1", .webp),
    ] as [(String, ImageVariant.Format)])
  func `an animation needs a format that holds one`(accept: String, expected: ImageVariant.Format) {
    #expect(format(accept, frames: .all) == expected)
  }

  @Test(
    arguments: [
      ("image/avif,image/webp,*/*", .avif), ("image/webp,*/*", .auto), ("image/webp", .auto),
      ("image/png", .png), ("image/jpeg", .compatible), ("*/*", .compatible),
    ] as [(String, ImageVariant.Format)])
  func `16 bits need a format that holds them`(accept: String, expected: ImageVariant.Format) {
    #expect(format(accept, depth: .sixteen) == expected)
  }

  @Test func `a fixed format is not negotiated`() {
    var query = ImageQuery("https://h/a")
    query.format = .fixed
    #expect(AcceptedFormats("image/avif").format(for: query) == nil)
  }

  @Test func `a long field is read in part`() {
    #expect(format(String(repeating: "a/b,", count: 64) + "image/avif") == .compatible)
    #expect(format(String(repeating: "image/avif;q=0.5;", count: 10_000)) == .avif)
  }
}
