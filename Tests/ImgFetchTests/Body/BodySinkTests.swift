import ImgModel
import ImgSystem
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

  @Test(arguments: [(200, true), (404, false)])
  func `the first bytes of a picture are examined once`(status: Int, isExamined: Bool) throws {
    var heads: [[UInt8]] = []
    let reject = EarlyReject(byteCount: 4) { head in
      heads.append(head)
      return nil
    }
    let context = try context(earlyReject: reject)
    context.budgets.begin(1)
    var sink = BodySink(1, for: .picture, from: .whole(), in: context)
    for _ in 0..<3 { #expect(take(3, &sink, status: status).isTaken) }
    #expect(heads == (isExamined ? [[1, 1, 1, 1]] : []))
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
