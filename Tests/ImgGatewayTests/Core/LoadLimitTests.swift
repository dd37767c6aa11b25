import Testing

@testable import ImgGateway

struct LoadLimitTests {
  private func begin(_ limit: LoadLimit, _ host: String) -> Int {
    var count = 0
    while limit.begin(host) { count += 1 }
    return count
  }

  @Test func `one host leaves room for others, and they for more`() {
    let limit = LoadLimit(512)
    #expect(begin(limit, "a") == 384)
    #expect(begin(limit, "b") == 96)
    #expect(begin(limit, "c") == 24)
    #expect(limit.count == 504)
  }

  @Test(arguments: 1...4) func `every load of a small limit can be used`(maximum: Int) {
    let limit = LoadLimit(maximum)
    for number in 0..<maximum { #expect(limit.begin("\(number)")) }
    #expect(!limit.begin("more"))
    #expect(limit.count == maximum)
  }

  @Test func `a load that has ended makes room for one of its host`() {
    let limit = LoadLimit(8)
    let count = begin(limit, "a")
    limit.end("a")
    #expect(begin(limit, "a") == 1)
    for _ in 0..<count { limit.end("a") }
    #expect(limit.count == 0)
    #expect(begin(limit, "a") == count)
  }
}
