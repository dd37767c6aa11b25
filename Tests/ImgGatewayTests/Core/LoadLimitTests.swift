import Synchronization
import Testing

@testable import ImgGateway

struct LoadLimitTests {
  /// Begins as many loads of a host as the limit permits.
  ///
  /// - Parameter body: runs while all are under way.
  /// - Returns: their number.
  @discardableResult
  private func fill(
    _ limit: LoadLimit, _ host: String, then body: () async -> Void = {}
  ) async -> Int {
    let others = await limit.load(from: host) { await fill(limit, host, then: body) }
    guard let others else {
      await body()
      return 0
    }
    return others + 1
  }

  @Test func `one host leaves room for others, and they for more`() async {
    let limit = LoadLimit(512)
    let first = await fill(limit, "a") {
      let second = await fill(limit, "b") {
        let third = await fill(limit, "c") { #expect(limit.count == 504) }
        #expect(third == 24)
      }
      #expect(second == 96)
    }
    #expect(first == 384)
  }

  @Test(arguments: 1...4) func `every load of a small limit can be used`(maximum: Int) async {
    let limit = LoadLimit(maximum)
    func fillWithHosts(from number: Int) async {
      let isLoaded: Void? = await limit.load(from: "\(number)") {
        await fillWithHosts(from: number + 1)
      }
      guard isLoaded == nil else { return }
      #expect(number == maximum)
      #expect(limit.count == maximum)
    }
    await fillWithHosts(from: 0)
  }

  @Test func `a load that has ended makes room for one of its host`() async {
    let limit = LoadLimit(8)
    let count = await fill(limit, "a")
    #expect(limit.count == 0)
    #expect(await fill(limit, "a") == count)
  }

  @Test func `a load that fails ends, too`() async {
    struct Failed: Error {}
    let limit = LoadLimit(1)
    await #expect(throws: Failed.self) {
      try await limit.load(from: "a") { () async throws(Failed) in throw Failed() }
    }
    #expect(limit.count == 0)
  }
}
