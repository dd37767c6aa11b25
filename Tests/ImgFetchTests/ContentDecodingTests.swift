import ImgFacts
import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// Content codings, undone from chunks of any length.
struct ContentDecodingTests {
  private func decoding(
    _ codings: String, maximumByteCount: Int = 1 << 20
  ) throws -> ContentDecoding {
    try ContentDecoding(
      responseHead(["Content-Encoding: \(codings)"]), maximumByteCount: maximumByteCount)
  }

  /// Hands over a body in chunks, each again for as long as it waits.
  ///
  /// - Parameter isTaken: whether the next piece is taken.
  private func decoded(
    _ bytes: [UInt8], by decoding: ContentDecoding, chunkByteCount: Int = .max,
    isTaken: () -> Bool = { true }
  ) throws(Failure) -> [UInt8] {
    var content: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: min(chunkByteCount, bytes.count)) {
      let chunk = Array(bytes[start...].prefix(chunkByteCount))
      var reception = BodySink.Reception.wait
      while case .wait = reception {
        reception = unsafe chunk.withUnsafeBufferPointer { chunk in
          unsafe decoding.receive(chunk) { piece in
            guard isTaken() else { return .wait }
            unsafe content.append(contentsOf: piece)
            return .taken
          }
        }
      }
      if case .stop(.rejected(let failure)) = reception { throw failure }
    }
    return content
  }

  @Test(arguments: Compressed.samples, [1, 7, Int.max])
  func `chunks of any length give one body`(sample: Compressed.Sample, chunkByteCount: Int) throws {
    let decoding = try decoding(sample.codings)
    let content = try decoded(sample.bytes, by: decoding, chunkByteCount: chunkByteCount)
    #expect(content == Compressed.content)
    #expect(decoding.decodedByteCount == content.count)
    #expect(decoding.truncation == nil)
  }

  @Test(arguments: Compressed.samples)
  func `a piece that is not taken comes again, and none twice`(sample: Compressed.Sample) throws {
    var askedCount = 0
    let content = try decoded(sample.bytes, by: try decoding(sample.codings)) {
      askedCount += 1
      return askedCount.isMultiple(of: 3)
    }
    #expect(content == Compressed.content)
  }

  @Test(arguments: Compressed.samples)
  func `a body without its last bytes is truncated`(sample: Compressed.Sample) throws {
    for missing in [1, sample.bytes.count / 2, sample.bytes.count - 1] {
      let decoding = try decoding(sample.codings)
      _ = try decoded(Array(sample.bytes.dropLast(missing)), by: decoding)
      let failure = try #require(decoding.truncation)
      #expect(failure.code == .truncatedBody && failure.isRetryable)
    }
  }

  @Test(arguments: Compressed.samples)
  func `what follows an encoded body is passed over`(sample: Compressed.Sample) throws {
    for rest in [[0], Array("garbage".utf8), [UInt8](repeating: 0, count: 70_000)] {
      let decoding = try decoding(sample.codings)
      let content = try decoded(sample.bytes + rest, by: decoding, chunkByteCount: 100)
      #expect(content == Compressed.content)
      #expect(decoding.truncation == nil)
    }
  }

  @Test(arguments: ["gzip", "zstd"])
  func `the streams of one body follow each other`(coding: String) throws {
    let sample = try #require(Compressed.samples.first { $0.codings == coding })
    let decoding = try decoding(coding)
    let content = try decoded(sample.bytes + sample.bytes, by: decoding, chunkByteCount: 100)
    #expect(content == Compressed.content + Compressed.content)
    #expect(decoding.truncation == nil)
    let broken = try self.decoding(coding)
    _ = try decoded(sample.bytes + sample.bytes.dropLast(), by: broken)
    #expect(broken.truncation != nil)
  }

  @Test(arguments: ["gzip", "deflate", "br", "zstd"])
  func `bytes that are no such stream are refused, and not asked for again`(coding: String) throws {
    let bytes = [UInt8](repeating: 0xFF, count: 1_000)
    let failure = try #require(throws: Failure.self) {
      try decoded(bytes, by: try decoding(coding))
    }
    #expect(failure.code == .invalidResponse && !failure.isRetryable)
    #expect(failure.detail.hasPrefix("the body cannot be decoded as \(coding): "))
  }

  @Test func `a stream that breaks after its beginning may be whole the next time`() throws {
    let sample = Compressed.zstd(noise(600_000))
    let broken = Array(sample.prefix(300_000)) + [UInt8](repeating: 0xFF, count: 300_000)
    let failure = try #require(throws: Failure.self) {
      try decoded(broken, by: try decoding("zstd"), chunkByteCount: 16_384)
    }
    #expect(failure.code == .invalidResponse && failure.isRetryable)
  }

  /// RFC 8878 section 3.1.1.1.2: 10 is added to the exponent in the high five bits.
  @Test func `a window of more than 8 MiB is refused for good, as is a dictionary`() throws {
    func frame(_ descriptors: UInt8...) -> [UInt8] {
      // One raw block of one byte.
      [0x28, 0xB5, 0x2F, 0xFD] + descriptors + [9, 0, 0, 7]
    }
    let taken = frame(0, 13 << 3)
    #expect(try decoded(taken, by: try decoding("zstd")) == [7])
    // Also behind another frame, where bytes that begin no frame are passed over.
    for refused in [frame(0, 14 << 3), taken + frame(0, 14 << 3), frame(1, 13 << 3, 5)] {
      let failure = try #require(throws: Failure.self) {
        try decoded(refused, by: try decoding("zstd"))
      }
      #expect(failure.code == .invalidResponse && !failure.isRetryable, "\(failure.detail)")
    }
  }

  @Test func `the limit holds between two codings`() throws {
    let bomb = try #require(Compressed.bombs.last)
    // 1,972 bytes lie between the two.
    let short = try decoding(bomb.codings, maximumByteCount: 1_971)
    let failure = try #require(throws: Failure.self) { try decoded(bomb.bytes, by: short) }
    #expect(failure.code == .tooLarge)
    let long = try decoding(bomb.codings, maximumByteCount: 1_972)
    #expect(try decoded(bomb.bytes, by: long).count == 2_000_000)
  }
}

/// What `Content-Encoding` says.
struct ContentCodingsTests {
  private static let known: [(lines: [String], codings: [ContentCoding])] = [
    ([], []), (["Content-Encoding:"], []), (["Content-Encoding: identity"], []),
    (["Content-Encoding: none, Identity"], []), (["Content-Encoding: aws-chunked"], []),
    (["Content-Encoding: GZIP"], [.gzip]), (["content-encoding: x-gzip"], [.gzip]),
    (["Content-Encoding: aws-chunked,gzip"], [.gzip]),
    (["Content-Encoding: zstd", "Content-Encoding: br, deflate"], [.zstd, .brotli, .deflate]),
  ]

  @Test(arguments: known)
  func `codings are read in their order`(lines: [String], codings: [ContentCoding]) {
    let read = responseHead(lines).codings
    #expect(read.applied == codings && read.problem == nil)
  }

  @Test(arguments: ["compress", "gzip, bogus", "br;q=1", "\"gzip\""])
  func `another coding is named`(value: String) throws {
    let problem = try #require(responseHead(["Content-Encoding: \(value)"]).codings.problem)
    let name = value.split(separator: " ").last.map(String.init) ?? ""
    #expect(
      problem == "Content-Encoding: \(name) is not known; gzip, deflate, br, zstd are decoded")
  }

  @Test func `more than three codings are refused`() {
    let head = responseHead(["Content-Encoding: gzip, gzip, gzip, gzip"])
    #expect(head.codings.problem == "Content-Encoding names 4 codings; 3 are decoded")
  }

  @Test func `the length of an encoded body is not that of the body`() {
    let lines = ["Content-Length: 10"]
    #expect(responseHead(lines).decodedLength == 10)
    let encoded = responseHead(lines + ["Content-Encoding: br"])
    #expect(encoded.decodedLength == nil && encoded.contentLength == 10)
  }
}

/// Transfers whose origin sends a Content-Encoding, whatever was asked.
@Suite(.timeLimit(.minutes(20))) struct EncodedBodyTests: ResumableDownload {
  let origin = TestOrigin()
  let picture = noise(length)

  private func serve(
    _ bytes: [UInt8], as codings: String, _ delivery: BodyDelivery = .whole, path: String = "/a"
  ) {
    origin.serve(
      path, .body(bytes, headers: [Header("Content-Encoding", codings)], delivery: delivery))
  }

  /// The file of ``picture`` as an origin has it that stores it encoded.
  private func encoded(_ bytes: [UInt8], _ delivery: BodyDelivery = .whole) -> Behaviour {
    .resource(
      Resource(
        Compressed.zstd(bytes), entityTag: Self.tag, delivery: delivery,
        headers: [Header("Content-Encoding", "zstd")]))
  }

  @Test(arguments: Compressed.samples, [BodyDelivery.whole, .chunked])
  func `an encoded picture is decoded`(sample: Compressed.Sample, delivery: BodyDelivery) throws {
    serve(sample.bytes, as: sample.codings, delivery)
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url)
    #expect(transfer.body?.holds(Compressed.content) == true, "\(transfer.failure?.detail ?? "")")
    #expect(transfer.body?.declaredByteCount == nil)
    // What came over the line is what is counted as fetched.
    #expect(transfer.bytesReceived == sample.bytes.count)
    #expect(origin.counters("/a").headersSeen["accept-encoding"] == "identity")
    fetcher.releaseBody(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test(arguments: Compressed.samples)
  func `a robots.txt is decoded as a picture is`(sample: Compressed.Sample) throws {
    serve(sample.bytes, as: sample.codings, path: "/robots.txt")
    #expect(try Fetcher().fetchRobots(of: url).body?.holds(Compressed.content) == true)
  }

  @Test func `a long body is decoded into its file`() throws {
    let long = noise(6 << 20)
    serve(Compressed.zstd(long), as: "zstd")
    let body = try #require(Fetcher().fetch(url).body)
    #expect(body.isInFile && body.holds(long))
  }

  @Test func `a body that waits for memory is decoded where it stopped`() throws {
    serve(Compressed.zstd(picture), as: "zstd")
    // Each has room once the other is given back.
    let fetcher = try Fetcher(bodyBudget: Self.length + (200 << 10), spoolDirectories: [])
    let ids = try (0..<2).map { _ in try fetcher.start(url) }
    for id in ids {
      let transfer = try fetcher.end(of: id)
      #expect(transfer.body?.holds(picture) == true)
      fetcher.releaseBody(transfer)
    }
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test(arguments: Compressed.bombs)
  func `the limit counts decoded bytes`(bomb: Compressed.Sample) throws {
    serve(bomb.bytes, as: bomb.codings)
    let enough = try Fetcher { $0.maxBodyByteCount = 2_000_000 }.fetch(url)
    #expect(enough.body?.content.byteCount == 2_000_000)
    let fetcher = try Fetcher { $0.maxBodyByteCount = 1_999_999 }
    let failure = try #require(fetcher.fetch(url).failure)
    #expect(failure.code == .tooLarge)
    #expect(failure.detail == "the body is longer than 1999999 bytes")
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  /// What comes out of these is no longer than the limit.
  @Test(arguments: [[0x1F], Compressed.empty])
  func `the limit counts the bytes of the body as it is sent, too`(rest: [UInt8]) throws {
    let maximum = 1 << 20
    let sample = Compressed.samples[0]
    let bytes = sample.bytes + Array(repeating: rest, count: 2 * maximum / rest.count).joined()
    serve(bytes, as: sample.codings, .chunked)
    let transfer = try Fetcher { $0.maxBodyByteCount = Int64(maximum) }.fetch(url)
    #expect(transfer.failure?.code == .tooLarge && transfer.failure?.isRetryable == false)
    // The last chunk ends it.
    #expect(transfer.bytesReceived <= maximum + DecodingStage.pieceByteCount)
    let count = (maximum - sample.bytes.count) / rest.count * rest.count
    serve(Array(bytes.prefix(sample.bytes.count + count)), as: sample.codings, .chunked)
    let short = try Fetcher { $0.maxBodyByteCount = Int64(maximum) }.fetch(url)
    #expect(short.body?.holds(Compressed.content) == true)
  }

  @Test func `the first decoded bytes are examined`() throws {
    let sample = Compressed.samples[0]
    serve(sample.bytes, as: sample.codings)
    var heads: [[UInt8]] = []
    let reject = EarlyReject(byteCount: 20) { head in
      heads.append(head)
      return nil
    }
    #expect(try Fetcher(earlyReject: reject).fetch(url).body != nil)
    #expect(heads == [Array(Compressed.content.prefix(20))])
  }

  @Test(arguments: [false, true])
  func `an encoded body that breaks off is not resumed`(declaresLength: Bool) throws {
    origin.serve("/a", encoded(picture, .cut(after: Self.cut, declaresLength: declaresLength)))
    let transfer = try Fetcher().fetch(url)
    #expect(transfer.failure?.code == .truncatedBody && transfer.failure?.isRetryable == true)
    #expect(transfer.partialBody == nil)
  }

  @Test func `a body that ends within its stream is truncated, whatever its length says`() throws {
    let bytes = Array(Compressed.zstd(picture).prefix(Self.cut))
    serve(bytes, as: "zstd")
    let transfer = try Fetcher().fetch(url)
    #expect(transfer.failure?.code == .truncatedBody)
    #expect(transfer.failure?.detail == "the zstd data of the body ends too early")
    #expect(transfer.partialBody == nil)
  }

  @Test(arguments: [200, 206])
  func `a partial body is not continued by an encoded one`(status: Int) throws {
    let rest = Resource(
      Compressed.zstd(picture), entityTag: Self.tag, acceptsRanges: status == 206,
      headers: [Header("Content-Encoding", "zstd")])
    origin.serve(
      "/a", .sequence([resource(.cut(after: Self.cut)), .resource(rest), encoded(picture)]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, resuming: partialBody(fetcher))
    #expect(transfer.body?.holds(picture) == true, "\(transfer.failure?.detail ?? "")")
    #expect(origin.counters("/a").requests == (status == 206 ? 3 : 2))
  }

  @Test func `a part of an encoded body that was not asked for is no picture`() throws {
    let headers = [("Content-Encoding", "zstd"), ("Content-Range", "bytes 0-9/10")].map(Header.init)
    let part = Response(status: 206, headers: headers, body: Array(picture.prefix(10)))
    origin.serve("/a", .response(part))
    let failure = try Fetcher().fetch(url).failure
    #expect(failure?.code == .httpStatus && failure?.httpStatus == 206)
  }

  @Test(arguments: ["bogus", "gzip, compress"])
  func `a coding that is not known is refused by its name before the body`(codings: String) throws {
    serve(picture, as: codings)
    let transfer = try Fetcher().fetch(url)
    let failure = try #require(transfer.failure)
    #expect(failure.code == .invalidResponse && !failure.isRetryable && failure.httpStatus == 200)
    let name = codings.split(separator: " ").last ?? ""
    #expect(failure.detail.hasPrefix("Content-Encoding: \(name) is not known"))
    #expect(transfer.bytesReceived == 0)
  }

  @Test func `the page of an error is not decoded`() throws {
    origin.serve(
      "/a",
      .response(
        Response(status: 404, headers: [Header("Content-Encoding", "bogus")], body: picture)))
    #expect(try Fetcher().fetch(url).failure?.httpStatus == 404)
  }

  // MARK: - Facts

  /// A JPEG with its frame header behind two segments.
  private static let jpeg: [UInt8] = {
    let segment: [UInt8] = [0xFF, 0xE5, 0xEA, 0x60] + noise(59_998)
    let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0, 48, 0, 64, 1, 1, 0x11, 0]
    return [0xFF, 0xD8] + segment + segment + frame
      + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0] + noise(1 << 20).map { $0 & 0x7F } + [0xFF, 0xD9]
  }()

  @Test(arguments: [true, false])
  func `facts are read from an encoded file, asked for as a whole`(acceptsRanges: Bool) throws {
    origin.serve(
      "/a",
      .resource(
        Resource(
          Compressed.zstd(Self.jpeg), entityTag: Self.tag, acceptsRanges: acceptsRanges,
          headers: [Header("Content-Encoding", "zstd")])))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetchFacts(url, .metadata)
    let record = try #require(transfer.body?.facts)
    #expect(record.facts.width == 64 && record.facts.height == 48 && record.status == .complete)
    // The length of the encoded file is not that of the file.
    #expect(record.byteCount == nil)
    #expect(transfer.bytesReceived <= 300_000)
    #expect(origin.counters("/a").requests == (acceptsRanges ? 2 : 1))
    #expect(origin.counters("/a").ranges.count == 1)
    fetcher.releaseBody(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `facts of an encoded file that breaks off are a failure`() throws {
    let bytes = Array(Compressed.zstd(Self.jpeg).prefix(50_000))
    serve(bytes, as: "zstd")
    #expect(try Fetcher().fetchFacts(url, .metadata).failure?.code == .truncatedBody)
  }
}
