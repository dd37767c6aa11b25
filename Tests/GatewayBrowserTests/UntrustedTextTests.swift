import Testing

extension GatewayBrowserTests {
  /// URLs, names and messages of unknown origins.
  struct UntrustedTextTests {
    /// An override, an isolate, a mark, a line feed and a character of C1.
    private static let controls = "\u{202E}\u{2066}\u{200F}\n\u{85}"
    private static let escapes = #"\u{202E}\u{2066}\u{200F}\u{000A}\u{0085}"#

    private static func visit(_ view: String) async throws -> Visit {
      var job = CannedJob(state: "finished", total: 2, done: 1, failed: 1, retryable: 1, queued: 0)
      job.name = "a\(controls)b"
      var picture = CannedPicture("1", index: 0)
      picture.url = "https://example.org/a\(controls)%E2%80%AEgpj.exe"
      var failure = CannedPicture.failed(
        "1", index: 1, code: "http_status", message: "no\(controls)")
      failure.url = picture.url
      return try await Visit(
        CannedGateway(job: job, jobPictures: [picture, failure]), view: view)
    }

    /// The control characters in texts and attributes that the page shows.
    private static let shown = """
      [...document.querySelectorAll("*")].flatMap((element) =>
        [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
          .map((node) => node.data)
          .concat(["title", "alt", "aria-label"].map((name) => element.getAttribute(name) ?? "")))
        .filter((text) => /[\\u0085\\u200F\\u202E\\u2066]/.test(text))
      """

    @Test func `control characters of a job's name and of URLs are shown as escapes`()
      async throws
    {
      let visit = try await Self.visit("job=1")
      try await visit.waitForPictures(1)
      #expect(try await visit.browser.value(of: Self.shown) == [String]())
      let texts: [String] = try await visit.browser.value(
        of: """
          ["#heading", "#job-title", "#collection option:last-child", ".name", ".failure span"]
            .map((selector) => document.querySelector(selector).textContent)
          """)
      #expect(
        texts == [
          "Job 1, a\(Self.escapes)b", "Job 1, a\(Self.escapes)b, finished",
          "job 1, a\(Self.escapes)b", "a\(Self.escapes)\\u{202E}gpj.exe", "no\(Self.escapes)",
        ])
    }

    @Test func `control characters of an open picture are shown as escapes`() async throws {
      for picture in ["1-0", "1-1"] {
        let visit = try await Self.visit("job=1&picture=\(picture)")
        try await visit.browser.wait(until: "document.querySelector('#viewer-facts a')")
        #expect(try await visit.browser.value(of: Self.shown) == [String]())
        let link: String = try await visit.browser.value(
          of: "document.querySelector('#viewer-facts a').textContent")
        #expect(link == "https://example.org/a\(Self.escapes)%E2%80%AEgpj.exe")
      }
    }

    @Test func `the direction of a text does not change what is beside it`() async throws {
      let visit = try await Self.visit("job=1&picture=1-1")
      try await visit.browser.wait(until: "document.querySelector('#viewer-facts a')")
      let bidi: [String] = try await visit.browser.value(
        of: """
          ["#heading", "#job-title", "#collection option", "#viewer-title", "#viewer-facts a", ".name"]
            .map((selector) => getComputedStyle(document.querySelector(selector)).unicodeBidi)
          """)
      #expect(Set(bidi) == ["isolate"])
    }
  }
}
