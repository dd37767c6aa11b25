import Glibc
import ImgModel
import ImgSystem
import TestOrigin
import Testing

@testable import ImgFetch

/// The bytes of a body on their way into its buffer.
@Suite(.timeLimit(.minutes(20))) struct BodySinkTests {
  private static let rejection = Failure(stage: .decode, code: .notAnImage, detail: "no")

  private func context(
    budget: Int = 1 << 30, maximumByteCount: Int64 = 1 << 20, earlyReject: EarlyReject? = nil
  ) throws -> TransferContext {
    var limits = Limits()
    limits.maxBodyByteCount = maximumByteCount
    return TransferContext(
      limits: limits, addressPolicy: AddressPolicy(allowed: []), userAgent: "imgctl-test/1",
      headers: try RequestHeaders(), spoolDirectories: SpoolDirectories([]),
      earlyReject: earlyReject, authorityFile: nil, proxies: ProxyRoutes(.none),
      budgets: BodyBudgets(memoryByteCount: budget, fileByteCount: budget),
      bandwidth: BandwidthQueue(nil) { 0 },
      current: CurrentTransfer { _ in })
  }

  /// Takes so many bytes of a response.
  private func take(
    _ count: Int, _ sink: inout BodySink, status: Int = 200, _ lines: [String] = []
  ) -> BodySink.Reception {
    let bytes = [UInt8](repeating: 1, count: count)
    return sink.take(bytes.span, completeByteCount: nil, of: responseHead(lines, status: status))
  }

  @Test func `a body may reach the limit and not pass it`() throws {
    let context = try context(maximumByteCount: 10)
    context.budgets.begin(1)
    var sink = BodySink(1, for: .picture, from: .whole(), in: context)
    #expect(take(10, &sink).isTaken)
    guard case .stop(.bodyTooLong) = take(1, &sink) else {
      Issue.record("the body passed the limit")
      return
    }
    #expect(sink.byteCount == 10)
    #expect(sink.charge == BodyCharge(byteCount: 10))
  }

  @Test func `a chunk without room waits`() throws {
    let context = try context(budget: 1)
    context.budgets.begin(1)
    context.budgets.begin(2)
    var sink = BodySink(2, for: .picture, from: .whole(), in: context)
    guard case .wait = take(10, &sink) else {
      Issue.record("the chunk has room")
      return
    }
    #expect(sink.byteCount == 0)
    context.budgets.end(1, isHandedOut: false)
    #expect(context.budgets.nextToResume() == 2)
    #expect(take(10, &sink).isTaken)
  }

  @Test func `a text takes nothing of the budgets and is not examined`() throws {
    let context = try context(
      budget: 0, earlyReject: EarlyReject(byteCount: 1) { _ in Self.rejection })
    context.budgets.begin(1)
    var sink = BodySink(1, for: .text(maximumByteCount: 10), from: .whole(), in: context)
    #expect(take(10, &sink).isTaken)
    #expect(sink.charge == BodyCharge(byteCount: 0))
    #expect(context.budgets.heldMemoryByteCount == 0)
  }

  @Test func `a body continues its partial body, or drops it`() throws {
    let context = try context()
    let partial = PartialBody(
      content: .memory([9, 9]),
      resumeState: ResumeState(validator: "\"a\"", completeByteCount: nil, receivedByteCount: 2))
    #expect(context.budgets.begin(1, with: BodyCharge(byteCount: 2)))
    var sink = BodySink(1, for: .picture, from: .partial(partial), in: context)
    #expect(take(1, &sink).isTaken)
    #expect(try sink.bytes.bytes() == [9, 9, 1])
    sink.dropPartialBody()
    #expect(sink.byteCount == 0)
    #expect(context.budgets.heldMemoryByteCount == 0)
    #expect(take(1, &sink).isTaken)
    #expect(try sink.bytes.bytes() == [1])
  }
}

extension BodySink.Reception {
  fileprivate var isTaken: Bool {
    if case .taken = self { true } else { false }
  }
}

@Suite struct BodyBufferTests {
  @Test func `a declared length reserves no more than as much again as has arrived`() throws {
    var buffer = BodyBuffer(maximumByteCount: 1 << 30)
    buffer.declaredByteCount = 3 << 20
    #expect(buffer.capacity(toFit: 1_000) == 64 << 10)
    buffer.grow(to: 1 << 20)
    try buffer.append(1 << 20)
    #expect(buffer.capacity(toFit: 1_000) == 2 << 20)
    buffer.grow(to: 2 << 20)
    try buffer.append(2 << 20 - 1 << 20)
    #expect(buffer.capacity(toFit: 1_000) == 3 << 20)
  }

  @Test func `a short declared length is reserved at once`() throws {
    var buffer = BodyBuffer(maximumByteCount: 200_000)
    buffer.declaredByteCount = 110_000
    #expect(buffer.capacity(toFit: 1_000) == 110_000)
    buffer.declaredByteCount = 220_000
    #expect(buffer.capacity(toFit: 1_000) == 200_000)
  }

  @Test func `a body of unknown length grows by eighths`() throws {
    var buffer = BodyBuffer(maximumByteCount: 1 << 30)
    buffer.grow(to: 4 << 20)
    try buffer.append(4 << 20)
    #expect(buffer.capacity(toFit: 1_000) == 9 << 19)
  }

  @Test func `a body in a file is written in blocks, whatever pieces it comes in`() throws {
    let block = SpoolWriter.blockByteCount
    let file = try SpoolFile(in: "/tmp")
    var buffer = BodyBuffer(maximumByteCount: 1 << 20)
    try buffer.move(to: file, capacity: 1 << 20)
    for _ in 0..<block { try buffer.append(1) }
    #expect(throws: SystemError.self) { try file.contents(byteCount: 1) }
    try buffer.append(1)
    #expect(try file.contents(byteCount: block).count == block)
    #expect(throws: SystemError.self) { try file.contents(byteCount: block + 1) }
    try buffer.append(2 * block)
    try buffer.append(1)
    try buffer.flush()
    #expect(buffer.byteCount == 3 * block + 2)
    #expect(try buffer.content.bytes() == [UInt8](repeating: 1, count: 3 * block + 2))
  }
}

extension BodyBuffer {
  /// Adds so many bytes.
  fileprivate mutating func append(_ count: Int) throws {
    let bytes = [UInt8](repeating: 1, count: count)
    try append(bytes.span)
  }
}

/// Bodies that are rejected by their first bytes.
@Suite(.timeLimit(.minutes(20))) struct EarlyRejectTests {
  @Test(arguments: [1, 100, 5_000])
  func `a transfer ends when the first bytes of its body are rejected`(count: Int) throws {
    let origin = TestOrigin()
    // The rest is never sent, so a transfer that waits for it does not end.
    origin.serve("/a", .body(noise(100_000), delivery: .stall(after: count)))
    let transfer = try fetcher(byteCount: count, rejecting: noise(count)).fetch(
      origin.baseURL + "/a")
    #expect(transfer.failure == Self.rejection)
    #expect(transfer.bytesReceived == count)
    #expect(origin.counters("/a").bytesSent == count)
  }

  @Test func `one buffer is read of a rejected body without end`() throws {
    let origin = TestOrigin()
    origin.serve("/a", .body([], delivery: .endless))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure == Self.rejection)
    #expect(transfer.bytesReceived <= 16 << 10)
    #expect(origin.waitUntil { $0["/a"].aborted == 1 })
  }

  @Test(arguments: [BodyDelivery.whole, .chunked])
  func `a body whose first bytes are accepted comes in whole`(delivery: BodyDelivery) throws {
    let origin = TestOrigin()
    origin.serve("/a", .body(noise(100_000), delivery: delivery))
    var examinationCount = 0
    let transfer = try fetcher(byteCount: 1_000) { head in
      examinationCount += 1
      return head != noise(1_000)
    }.fetch(origin.baseURL + "/a")
    #expect(transfer.body?.bytes == noise(100_000))
    #expect(examinationCount == 1)
  }

  @Test func `a body shorter than the examined bytes comes in whole`() throws {
    let origin = TestOrigin()
    origin.serve("/a", .body(noise(999)))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.body?.bytes == noise(999))
  }

  @Test(arguments: [300, 404, 503])
  func `the page of an error is not examined`(status: Int) throws {
    let origin = TestOrigin()
    origin.serve("/a", .response(Response(status: status, body: noise(5_000))))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.httpStatus == status)
  }

  private static let rejection = Failure(stage: .decode, code: .notAnImage, detail: "refused")

  private func fetcher(byteCount: Int, rejecting head: [UInt8]) throws -> Fetcher {
    try fetcher(byteCount: byteCount) { $0 == head }
  }

  private func fetcher(
    byteCount: Int, rejecting isRejected: @escaping ([UInt8]) -> Bool
  ) throws -> Fetcher {
    let reject = EarlyReject(byteCount: byteCount) { isRejected($0) ? Self.rejection : nil }
    return try Fetcher(earlyReject: reject)
  }
}

/// Bodies that are too long for memory.
@Suite(.timeLimit(.minutes(20))) struct SpoolTests {
  private static let mebibyte = 1 << 20
  private let origin = TestOrigin()

  @Test(arguments: [BodyDelivery.whole, .chunked])
  func `a body of more than 4 MiB comes in whole, in a file`(delivery: BodyDelivery) throws {
    let picture = noise(6 * Self.mebibyte)
    origin.serve("/a", .body(picture, delivery: delivery))
    let fetcher = try Fetcher()
    var peak = 0
    let transfer = try fetcher.fetch(origin.baseURL + "/a") {
      peak = max(peak, fetcher.pool.heldBodyByteCount)
    }
    let body = try #require(transfer.body)
    #expect(body.isInFile)
    #expect(body.holds(picture))
    #expect(transfer.bytesReceived == picture.count)
    #expect(fetcher.pool.heldBodyByteCount == 0)
    #expect(fetcher.pool.heldFileByteCount >= picture.count)
    // A declared length is known before there is anything to put into memory.
    #expect(peak <= (delivery == .whole ? 1 : 5) * Self.mebibyte)
    fetcher.pool.releaseBody(body.charge)
    #expect(fetcher.pool.heldFileByteCount == 0)
  }

  @Test(arguments: [BodyDelivery.whole, .chunked])
  func `a body of 4 MiB stays in memory`(delivery: BodyDelivery) throws {
    origin.serve("/a", .body(noise(4 * Self.mebibyte), delivery: delivery))
    let fetcher = try Fetcher()
    let body = try #require(fetcher.fetch(origin.baseURL + "/a").body)
    #expect(!body.isInFile)
    #expect(body.holds(noise(4 * Self.mebibyte)))
    #expect(fetcher.pool.heldFileByteCount == 0)
  }

  @Test func `where no file can be made, a long body stays in memory`() throws {
    origin.serve("/a", .body(noise(5 * Self.mebibyte)))
    let fetcher = try Fetcher(spoolDirectories: ["/proc", "/nowhere"])
    let body = try #require(fetcher.fetch(origin.baseURL + "/a").body)
    #expect(!body.isInFile)
    #expect(body.holds(noise(5 * Self.mebibyte)))
    fetcher.pool.releaseBody(body.charge)
    #expect(fetcher.pool.heldBodyByteCount == 0)
    #expect(fetcher.pool.heldFileByteCount == 0)
  }

  @Test func `the second directory serves where the first has no files`() throws {
    origin.serve("/a", .body(noise(5 * Self.mebibyte)))
    let fetcher = try Fetcher(spoolDirectories: ["/proc", "/tmp"])
    #expect(try fetcher.fetch(origin.baseURL + "/a").body?.isInFile == true)
  }

  @Test func `a long body whose first bytes are rejected gets no file`() throws {
    origin.serve("/a", .body(noise(5 * Self.mebibyte)))
    let refusal = Failure(stage: .decode, code: .notAnImage, detail: "refused")
    let fetcher = try Fetcher(
      earlyReject: EarlyReject(byteCount: 1_000) { head in
        head == noise(1_000) ? refusal : nil
      })
    var peak = 0
    let transfer = try fetcher.fetch(origin.baseURL + "/a") {
      peak = max(peak, fetcher.pool.heldFileByteCount)
    }
    #expect(transfer.failure == refusal)
    #expect(peak == 0)
  }

  @Test func `bodies that find no room in files wait until others are given back`() throws {
    let length = 5 * Self.mebibyte
    let picture = noise(length)
    let fetcher = try Fetcher {
      $0.maxBodyByteCount = Int64(length)
      // Other tests may keep the origin from sending.
      $0.stallTimeout = .seconds(600)
      $0.transferTimeout = .seconds(600)
    }
    let ids = try (0..<10).map { number in
      origin.serve("/\(number)", .body(picture))
      return try fetcher.start("\(origin.baseURL)/\(number)")
    }
    var givenBack: Set<TransferID> = []
    var peak = 0
    try fetcher.run {
      peak = max(peak, fetcher.pool.heldFileByteCount)
      // Not before all others wait. How many bodies come in until then depends on the order of their bytes.
      let underWay = ids.filter { fetcher.finished[$0] == nil }
      guard underWay.allSatisfy({ fetcher.pool.arrival(of: $0)?.isHeldUp == true }) else {
        return false
      }
      for (id, transfer) in fetcher.finished where givenBack.insert(id).inserted {
        if let body = transfer.body { fetcher.pool.releaseBody(body.charge) }
      }
      return fetcher.finished.count == ids.count
    }
    #expect(fetcher.finished.values.compactMap(\.failure).isEmpty)
    #expect(fetcher.finished.values.allSatisfy { $0.body?.bytes == picture })
    // Eight of the greatest length, and the one that may pass that.
    #expect(peak <= 9 * length)
    #expect(fetcher.pool.heldFileByteCount == 0)
  }

  @Test func `a transfer whose file cannot be written ends, and leaves nothing held`() async {
    await #expect(processExitsWith: .success) {
      ThisProcess.ignoreFileSizeSignal()
      var limit = rlimit(rlim_cur: 2 << 20, rlim_max: 2 << 20)
      #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      let origin = TestOrigin()
      origin.serve("/a", .body(noise(5 << 20)))
      let fetcher = try Fetcher()
      let failure = try fetcher.fetch(origin.baseURL + "/a").failure
      #expect(failure?.code == .internal)
      #expect(failure?.isRetryable == true)
      #expect(fetcher.pool.heldBodyByteCount == 0)
      #expect(fetcher.pool.heldFileByteCount == 0)
    }
  }
}
