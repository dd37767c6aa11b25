import Testing

extension GatewayBrowserTests {
  /// The neighbours of a picture that the list does not have.
  struct NeighbourTests {
    private static func visit(_ view: String) async throws -> Visit {
      let job = CannedJob(state: "finished", total: 3_000, done: 3_000, queued: 0)
      let store = (0..<3_000).map { CannedPicture(index: $0) }
      let lines = (0..<3_000).map { CannedPicture("1", index: $0) }
      return try await Visit(
        CannedGateway(store, job: job, jobPictures: lines), view: view, width: 800)
    }

    private static func listCount(_ visit: Visit) -> Int {
      visit.gateway.requests.filter { $0.hasPrefix("/v2/list") }.count
    }

    @Test func `lines of a job have neighbours without the list`() async throws {
      let visit = try await Self.visit("job=1&picture=1-2000")
      try await visit.browser.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 2120")
      for (key, index) in [(Browser.Key.right, 2_001), (.left, 2_000), (.left, 1_999)] {
        try await visit.browser.press(key)
        try await visit.browser.wait(
          until: "document.querySelector('#viewer-stage img')?.naturalWidth === \(120 + index)")
        #expect(try await visit.browser.value(of: "location.hash") == "#job=1&picture=1-\(index)")
      }
      #expect(Self.listCount(visit) < 5)
    }

    @Test func `the last line of a job has no next one`() async throws {
      let visit = try await Self.visit("job=1&picture=1-2999")
      try await visit.browser.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 3119")
      let isDisabled: [Bool] = try await visit.browser.value(
        of: "['previous', 'next'].map((s) => document.querySelector(`#viewer-${s}`).disabled)")
      #expect(isDisabled == [false, true])
    }

    @Test(arguments: ["picture=none", "job=1&q=jpg&picture=1-9999", "job=1&picture=1-9999"])
    func `a picture that does not exist is not sought`(view: String) async throws {
      let visit = try await Self.visit(view)
      try await visit.browser.wait(
        until: "['previous', 'next'].every((s) => document.querySelector(`#viewer-${s}`).disabled)")
      try await visit.browser.press(.escape)
      try await visit.waitForPictures(10)
      #expect(Self.listCount(visit) < 15)
    }
  }
}
