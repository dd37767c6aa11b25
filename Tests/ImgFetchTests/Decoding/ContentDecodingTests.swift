import ImgModel
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
  func `chunks of any length give the same body`(
    sample: Compressed.Sample, chunkByteCount: Int
  ) throws {
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
