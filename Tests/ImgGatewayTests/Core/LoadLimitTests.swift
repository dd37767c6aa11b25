import Synchronization
import Testing

@testable import ImgGateway

@Suite(.timeLimit(.minutes(20))) struct LoadLimitTests {
  private struct Ended: Error {}

  /// A load that is under way until it is ended or cancelled.
  private final class Load: Sendable {
    private let gate = AsyncStream<Void>.makeStream()
    private let task: Task<Bool, Never>

    /// - Parameter begun: gets whether the limit permits the load.
    init(from host: String, in limit: LoadLimit, begun: @escaping @Sendable (Bool) -> Void) {
      task = Task.immediate { [stream = gate.stream] in
        do {
          let isWhole = try await limit.load(from: host) { () async throws(Ended) in
            begun(true)
            for await _ in stream { return true }
            throw Ended()
          }
          if isWhole == nil { begun(false) }
          return isWhole ?? false
        } catch {
          return false
        }
      }
    }

    func end() { gate.continuation.yield() }

    /// Whether it came to its own end.
    var isWhole: Bool { get async { await task.value } }
  }

  /// - Returns: `nil` without a load.
  private func begin(_ host: String, in limit: LoadLimit) async -> Load? {
    let begun = AsyncStream<Bool>.makeStream()
    let load = Load(from: host, in: limit) { isBegun in
      begun.continuation.yield(isBegun)
      begun.continuation.finish()
    }
    for await isBegun in begun.stream where isBegun { return load }
    return nil
  }

  /// Begins as many loads of a host as the limit permits.
  private func fill(_ limit: LoadLimit, _ host: String, atMost maximum: Int = .max) async -> [Load]
  {
    var loads: [Load] = []
    while loads.count < maximum, let load = await begin(host, in: limit) { loads.append(load) }
    return loads
  }

  @Test func `one group of hosts leaves room for others, and they for more`() async {
    let limit = LoadLimit(512)
    let counts = [
      await fill(limit, "a.example.org"), await fill(limit, "b.example.org"),
      await fill(limit, "b"), await fill(limit, "c"),
    ].map(\.count)
    #expect(counts == [384, 0, 96, 24])
    #expect(limit.count == 504)
  }

  @Test(arguments: 1...4) func `every load of a small limit can be used`(maximum: Int) async {
    let limit = LoadLimit(maximum)
    for number in 0..<maximum { #expect(await begin("\(number)", in: limit) != nil) }
    #expect(limit.count == maximum)
  }

  @Test func `while no load is free, the largest group loses its oldest to a smaller one`() async {
    let limit = LoadLimit(4)
    let slow = await fill(limit, "a", atMost: 2)
    let others = [await begin("b", in: limit), await begin("c", in: limit)]
    let new = await begin("d", in: limit)
    #expect(new != nil)
    #expect(await !slow[0].isWhole)
    #expect(limit.count == 4)
    // All groups are equal now. Another one of "a" could only take the place of one of "b".
    #expect(await begin("a", in: limit) == nil)
    for load in [slow[1], others[0], others[1], new] { load?.end() }
    for load in [slow[1], others[0], others[1], new] { #expect(await load?.isWhole == true) }
    #expect(limit.count == 0)
  }

  @Test func `two groups do not take a load from each other by turns`() async {
    let limit = LoadLimit(3)
    let first = await fill(limit, "a", atMost: 2) + fill(limit, "b", atMost: 1)
    #expect(await begin("b", in: limit) == nil)
    for load in first {
      load.end()
      #expect(await load.isWhole)
    }
  }

  @Test func `among many slow groups, a host without loads is refused only while none is slow`()
    async
  {
    let clock = Mutex(ContinuousClock.now)
    let limit = LoadLimit(8) { clock.withLock(\.self) }
    var loads: [Load] = []
    for number in 0..<90 { loads += await fill(limit, "slow\(number)", atMost: 8) }
    #expect(limit.count == 8)
    // Each is of another host, as where many people look at many hosts, and the first ones soon end.
    #expect(await begin("new", in: limit) == nil)
    clock.withLock { $0 += .seconds(10) }
    for number in 0..<20 {
      let load = await begin("new\(number)", in: limit)
      load?.end()
      #expect(await load?.isWhole == true)
    }
  }

  @Test func `a load that has ended makes room for one of its host`() async {
    let limit = LoadLimit(8)
    let loads = await fill(limit, "a")
    for load in loads {
      load.end()
      #expect(await load.isWhole)
    }
    #expect(limit.count == 0)
    #expect(await fill(limit, "a").count == loads.count)
  }

  @Test func `a load that fails ends, too`() async {
    let limit = LoadLimit(1)
    await #expect(throws: Ended.self) {
      try await limit.load(from: "a") { () async throws(Ended) in throw Ended() }
    }
    #expect(limit.count == 0)
  }
}
