import Testing

extension GatewayBrowserTests {
  /// The progress of a job, its failures, and notices.
  struct JobTests {
    private static let ended = CannedJob(
      state: "finished", total: 2, done: 1, failed: 1, retryable: 1, queued: 0)

    private static func pictures() -> [CannedPicture] {
      [
        CannedPicture("job", index: 0),
        .failed("job", index: 1, code: "timeout", message: "no answer"),
      ]
    }

    @Test func `the ring follows a job until it has ended`() async throws {
      let gateway = CannedGateway(job: CannedJob(done: 25, queued: 75))
      let visit = try await Visit(gateway)
      let ring = "document.querySelector('#job-ring')"
      try await visit.browser.wait(until: "\(ring).dataset.fraction === '0.2500'")
      gateway.change(CannedJob(done: 45, failed: 5, queued: 50))
      try await visit.browser.wait(until: "\(ring).dataset.fraction === '0.5000'")
      #expect(try await visit.browser.value(of: "\(ring).getAttribute('aria-valuenow')") == "50")
      gateway.change(
        CannedJob(state: "finished", done: 95, failed: 5, queued: 0), isEnd: true)
      try await visit.browser.wait(until: "document.querySelector('.notice')")
      let notice: String = try await visit.browser.value(
        of: "document.querySelector('.notice p').textContent")
      #expect(notice == "Job 1 has ended: 95 of 100 pictures, 5 failed.")
      #expect(try visit.browser.complaints() == [])
    }

    @Test func `a picture appears in its place when its job has it`() async throws {
      var waiting = CannedPicture("job", index: 0)
      waiting.state = "waiting"
      (waiting.width, waiting.height, waiting.thumbHash) = (0, 0, nil)
      let gateway = CannedGateway(job: CannedJob(total: 1, queued: 1), jobPictures: [waiting])
      let visit = try await Visit(gateway, view: "job=1")
      try await visit.browser.wait(until: "document.querySelector('.state')")
      let box = "JSON.stringify(document.querySelector('.cell').getBoundingClientRect())"
      let before: String = try await visit.browser.value(of: box)
      gateway.change(
        CannedJob(state: "finished", total: 1, done: 1, queued: 0),
        pictures: [CannedPicture("job", index: 0)], isEnd: true)
      try await visit.waitForPictures(1)
      #expect(try await visit.browser.value(of: box) == before)
    }

    @Test func `a picture that waited outside the window is shown after the end of its job`()
      async throws
    {
      let waiting = (0..<100).map { index in
        var picture = CannedPicture("1", index: index)
        picture.state = "waiting"
        return picture
      }
      let gateway = CannedGateway(job: CannedJob(total: 100, queued: 100), jobPictures: waiting)
      let visit = try await Visit(gateway, view: "job=1")
      try await visit.browser.wait(until: "document.querySelector('.state')")
      gateway.change(
        CannedJob(state: "finished", total: 100, done: 100, queued: 0),
        pictures: (0..<100).map { CannedPicture("1", index: $0) }, isEnd: true)
      try await visit.browser.wait(until: "!document.querySelector('.state')")
      try await visit.scrollDown(toPicture: 29)
      try await visit.browser.wait(until: "!document.querySelector('.state')")
    }

    @Test func `failures are chosen by a button, and by their code`() async throws {
      let visit = try await Visit(
        CannedGateway(job: Self.ended, jobPictures: Self.pictures()), view: "job=1")
      try await visit.browser.click("#job-failures")
      try await visit.browser.wait(until: "document.querySelectorAll('.cell').length === 1")
      #expect(try await visit.browser.value(of: "location.hash") == "#job=1&outcome=failed")
      try await visit.browser.run(
        """
        const choice = document.querySelector("#outcome");
        choice.value = "dns_failure";
        choice.dispatchEvent(new Event("change"));
        """
      )
      try await visit.browser.wait(
        until: "document.querySelector('#message h3')?.textContent === 'Nothing matches'")
      #expect(visit.gateway.requests.contains { $0.contains("code=dns_failure") })
      try await visit.browser.run("history.back()")
      try await visit.browser.wait(until: "document.querySelectorAll('.cell').length === 1")
    }

    @Test func `a notice shows why a retry is refused, and goes by itself`() async throws {
      let visit = try await Visit(
        CannedGateway(job: Self.ended, jobPictures: Self.pictures()), view: "job=1")
      try await visit.browser.click("#job-retry")
      try await visit.browser.wait(until: "document.querySelector('.notice[role=alert]')")
      let text: String = try await visit.browser.value(
        of: "document.querySelector('.notice p').textContent")
      #expect(text == "no retry")
      try await visit.browser.wait(until: "!document.querySelector('.notice')")
    }

    @Test func `a notice goes when it is closed`() async throws {
      let visit = try await Visit(
        CannedGateway(job: Self.ended, jobPictures: Self.pictures()), view: "job=1")
      try await visit.browser.click("#job-retry")
      try await visit.browser.wait(until: "document.querySelector('.notice button')")
      let isThere: Bool = try await visit.browser.value(
        of: """
          (() => {
            document.querySelector('.notice button').click();
            return document.querySelector('.notice') !== null;
          })()
          """)
      #expect(!isThere)
    }

    @Test func `the ring of a job without a picture has no part that is done`() async throws {
      let job = CannedJob(state: "finished", total: 2, done: 0, failed: 2, queued: 0)
      let visit = try await Visit(
        CannedGateway(job: job, jobPictures: Self.pictures()), view: "job=1",
        media: ["prefers-reduced-motion": "reduce"])
      let parts: [String] = try await visit.browser.value(
        of: """
          ["done", "failed"].map((part) =>
            getComputedStyle(document.querySelector(`#job-ring .${part}`)).strokeDasharray
              .match(/[\\d.]+/)[0])
          """)
      #expect(parts == ["0", "100"])
    }

    @Test func `a list that fails for good offers another one instead of another attempt`()
      async throws
    {
      let visit = try await Visit(CannedGateway([CannedPicture(index: 0)]), view: "job=9")
      let text: String = try await visit.browser.value(
        of: "document.querySelector('#message').innerText")
      #expect(text.contains("the gateway has nothing here") && !text.contains("Try again"))
      try await visit.browser.click("#message button")
      try await visit.waitForPictures(1)
    }

    @Test func `an empty store says how to fill it`() async throws {
      let visit = try await Visit(CannedGateway())
      let text: String = try await visit.browser.value(
        of: "document.querySelector('#message').innerText")
      #expect(text.contains("imgctl submit urls.txt"))
      #expect(try visit.browser.complaints() == [])
    }

    @Test func `without a coordinator the page says so, and tries again when asked`() async throws {
      let gateway = CannedGateway([CannedPicture(index: 0)])
      gateway.isCoordinatorGone = true
      let visit = try await Visit(gateway)
      let text: String = try await visit.browser.value(
        of: "document.querySelector('#message').innerText")
      #expect(text.contains("no coordinator answers") && text.contains("imgctl start"))
      gateway.isCoordinatorGone = false
      try await visit.browser.click("#message button")
      try await visit.waitForPictures(1)
      #expect(try await visit.browser.value(of: "document.querySelector('#message').hidden"))
    }
  }
}
