import Testing

extension GatewayBrowserTests {
  /// The field for a part of a URL.
  struct SearchTests {
    private static func visit() async throws -> Visit {
      let job = CannedJob(state: "finished", total: 12, done: 12, queued: 0)
      let pictures = (0..<12).map { CannedPicture("1", index: $0) }
      return try await Visit(CannedGateway(job: job, jobPictures: pictures), view: "job=1")
    }

    private static func waitForCells(_ count: Int, of visit: Visit) async throws {
      try await visit.browser.wait(
        until: "document.querySelectorAll('.cell').length === \(count)")
    }

    private static let text = "document.querySelector('#search').value"

    @Test func `the back button also leads the field back, which has the focus`() async throws {
      let visit = try await Self.visit()
      try await Self.waitForCells(12, of: visit)
      try await visit.browser.click("#search")
      try await visit.browser.type("/11.")
      try await Self.waitForCells(1, of: visit)
      try await visit.browser.run("history.back()")
      try await Self.waitForCells(12, of: visit)
      #expect(try await visit.browser.value(of: Self.text) == "")
    }

    @Test func `a space at the end stays, as a word may follow it`() async throws {
      let visit = try await Self.visit()
      try await visit.browser.click("#search")
      try await visit.browser.type("/11. ")
      try await Self.waitForCells(1, of: visit)
      #expect(try await visit.browser.value(of: Self.text) == "/11. ")
    }

    @Test func `a text that is too long in bytes is not searched for, and the view stays`()
      async throws
    {
      let visit = try await Self.visit()
      try await Self.waitForCells(12, of: visit)
      try await visit.browser.click("#search")
      try await visit.browser.type(String(repeating: "é", count: 65))
      try await visit.browser.wait(
        until: "document.querySelector('#search-error')?.textContent.includes('128 bytes')")
      #expect(try await visit.browser.value(of: "location.hash") == "#job=1")
      #expect(try await visit.browser.value(of: "document.querySelectorAll('.cell').length") == 12)
      try await visit.browser.run("document.querySelector('#search').select()")
      try await visit.browser.type("/11.")
      try await Self.waitForCells(1, of: visit)
      #expect(
        try await visit.browser.value(of: "document.querySelector('#search-error').textContent")
          == "")
    }

    @Test func `an address with a filter that is refused leads to its job`() async throws {
      let visit = try await Self.visit()
      let long = String(repeating: "a", count: 129)
      try await visit.browser.run("location.hash = '#job=1&q=\(long)'")
      try await visit.browser.wait(
        until: "document.querySelector('#message button')?.textContent === 'Remove the filter'")
      try await visit.browser.click("#message button")
      try await Self.waitForCells(12, of: visit)
      #expect(try await visit.browser.value(of: "location.hash") == "#job=1")
    }
  }
}
