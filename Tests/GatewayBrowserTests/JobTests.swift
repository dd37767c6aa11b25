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
      let gateway = CannedGateway(job: CannedJob(done: 0, queued: 100))
      let visit = try await Visit(gateway)
      let ring = "document.querySelector('#job-ring')"
      try await visit.wait(until: "\(ring).dataset.fraction === '0.0000'")
      gateway.change(CannedJob(done: 25, queued: 75))
      try await visit.wait(until: "\(ring).dataset.fraction === '0.2500'")
      gateway.change(CannedJob(done: 45, failed: 5, queued: 50))
      try await visit.wait(until: "\(ring).dataset.fraction === '0.5000'")
      #expect(try await visit.value(of: "\(ring).getAttribute('aria-valuenow')") == "50")
      gateway.change(CannedJob(state: "finished", done: 95, failed: 5, queued: 0), isEnd: true)
      try await visit.wait(for: ".notice")
      let notice = try await visit.text(of: ".notice p")
      #expect(notice == "Job 1 has ended: 95 of 100 pictures, 5 failed.")
      #expect(try visit.complaints() == [])
    }

    @Test func `a picture appears in its place when its job has it`() async throws {
      var waiting = CannedPicture("job", index: 0)
      waiting.state = "waiting"
      (waiting.width, waiting.height, waiting.thumbHash) = (0, 0, nil)
      let gateway = CannedGateway(job: CannedJob(total: 1, queued: 1), jobPictures: [waiting])
      let visit = try await Visit(gateway, view: "job=1")
      try await visit.wait(for: ".state")
      let box = "JSON.stringify(document.querySelector('.cell').getBoundingClientRect())"
      let before: String = try await visit.value(of: box)
      gateway.change(
        CannedJob(state: "finished", total: 1, done: 1, queued: 0),
        pictures: [CannedPicture("job", index: 0)], isEnd: true)
      try await visit.waitForPictures(1)
      #expect(try await visit.value(of: box) == before)
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
      try await visit.wait(for: ".state")
      gateway.change(
        CannedJob(state: "finished", total: 100, done: 100, queued: 0),
        pictures: (0..<100).map { CannedPicture("1", index: $0) }, isEnd: true)
      try await visit.wait(until: "!document.querySelector('.state')")
      try await visit.scrollDown(toPicture: 29)
      try await visit.wait(until: "!document.querySelector('.state')")
    }

    @Test func `failures are chosen by a button, and by their code`() async throws {
      let visit = try await Visit(
        CannedGateway(job: Self.ended, jobPictures: Self.pictures()), view: "job=1")
      try await visit.click("#job-failures")
      try await visit.wait(for: 1, of: ".cell")
      #expect(try await visit.value(of: "location.hash") == "#job=1&outcome=failed")
      try await visit.run(
        """
        const choice = document.querySelector("#outcome");
        choice.value = "dns_failure";
        choice.dispatchEvent(new Event("change"));
        """
      )
      try await visit.wait(
        until: "document.querySelector('#message h3')?.textContent === 'Nothing matches'")
      #expect(visit.gateway.requests.contains { $0.contains("code=dns_failure") })
      try await visit.run("history.back()")
      try await visit.wait(for: 1, of: ".cell")
    }

    @Test func `a notice with the reason of a refusal goes alone or when closed`() async throws {
      let visit = try await Visit(
        CannedGateway(job: Self.ended, jobPictures: Self.pictures()), view: "job=1")
      // How long the first notice is shown, by the clock of the page.
      try await visit.run(
        """
        let began;
        new MutationObserver(() => {
          const isThere = document.querySelector(".notice") !== null;
          if (isThere) began ??= performance.now();
          else if (began) window.shownFor ??= performance.now() - began;
        }).observe(document.body, { childList: true, subtree: true });
        """)
      try await visit.click("#job-retry")
      try await visit.wait(for: ".notice[role=alert]")
      let text = try await visit.text(of: ".notice p")
      #expect(text == "no retry")
      try await visit.wait(until: "!document.querySelector('.notice')")
      #expect(try await visit.value(of: "window.shownFor >= 1_990"))
      try await visit.click("#job-retry")
      try await visit.wait(for: ".notice button")
      let isThere: Bool = try await visit.value(
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
      let parts: [String] = try await visit.value(
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
      let text = try await visit.shownText(of: "#message")
      #expect(text.contains("the gateway has nothing here") && !text.contains("Try again"))
      try await visit.click("#message button")
      try await visit.waitForPictures(1)
    }

    @Test func `an empty store says how to fill it`() async throws {
      let visit = try await Visit(CannedGateway())
      let text = try await visit.shownText(of: "#message")
      #expect(text.contains("imgctl submit urls.txt"))
      #expect(try visit.complaints() == [])
    }

    @Test func `without a coordinator the page says so, and tries again when asked`() async throws {
      let gateway = CannedGateway([CannedPicture(index: 0)])
      gateway.isCoordinatorGone = true
      let visit = try await Visit(gateway)
      let text = try await visit.shownText(of: "#message")
      #expect(text.contains("no coordinator answers") && text.contains("imgctl start"))
      gateway.isCoordinatorGone = false
      try await visit.click("#message button")
      try await visit.waitForPictures(1)
      #expect(try await visit.value(of: "document.querySelector('#message').hidden"))
    }
  }
}

extension GatewayBrowserTests {
  /// Jobs that are submitted, change or are removed while the page is open.
  struct JobChangeTests {
    private static let panel = "!document.querySelector('#job').hidden"

    private static func waiting(_ count: Int, ofJob job: Int) -> [CannedPicture] {
      (0..<count).map { index in
        var picture = CannedPicture(String(job), index: index)
        picture.state = "waiting"
        (picture.width, picture.height, picture.thumbHash) = (0, 0, nil)
        return picture
      }
    }

    @Test func `the address of a job that is newer than the page leads to its progress`()
      async throws
    {
      let gateway = CannedGateway([CannedPicture(index: 0)])
      let visit = try await Visit(gateway)
      gateway.change(CannedJob(job: 5, total: 1, queued: 1), pictures: Self.waiting(1, ofJob: 5))
      try await visit.run("location.hash = '#job=5'")
      try await visit.wait(until: "\(Self.panel) && document.querySelector('.state')")
      gateway.change(
        CannedJob(job: 5, state: "finished", total: 1, done: 1, queued: 0),
        pictures: [CannedPicture("5", index: 0)], isEnd: true)
      try await visit.wait(for: ".cell[data-id=\"5-0\"] img")
    }

    @Test func `a page of the store notices a new job`() async throws {
      let gateway = CannedGateway([CannedPicture(index: 0)])
      let visit = try await Visit(gateway)
      gateway.change(CannedJob(job: 5, total: 4, done: 1, queued: 3))
      try await visit.wait(until: Self.panel)
      #expect(try await visit.text(of: "#job-title") == "Job 5, running, 25 %")
    }

    @Test func `a change during the pause after another one is shown`() async throws {
      let waiting = Self.waiting(2, ofJob: 1)
      let gateway = CannedGateway(job: CannedJob(total: 2, queued: 2), jobPictures: waiting)
      let visit = try await Visit(gateway, view: "job=1")
      try await visit.wait(for: 2, of: ".state")
      let first = CannedPicture("1", index: 0)
      gateway.change(CannedJob(total: 2, done: 1, queued: 1), pictures: [first, waiting[1]])
      try await visit.wait(for: 1, of: ".state")
      gateway.change(
        CannedJob(total: 2, done: 2, queued: 0), pictures: [first, CannedPicture("1", index: 1)])
      try await visit.wait(until: "!document.querySelector('.state')")
    }

    @Test(arguments: ["finished", "running"])
    func `a job that was removed is said to be gone, and the store is offered`(state: String)
      async throws
    {
      let job = CannedJob(state: state, total: 2, done: 1, queued: state == "running" ? 1 : 0)
      let gateway = CannedGateway(
        [CannedPicture(index: 0)], job: job, jobPictures: Self.waiting(2, ofJob: 1))
      let visit = try await Visit(gateway, view: "job=1")
      try await visit.wait(until: "document.querySelector('.cell') && \(Self.panel)")
      gateway.removeJob()
      try await visit.wait(
        until: "document.querySelector('#message h3')?.textContent === 'This job is gone'")
      #expect(try await visit.count(of: ".cell") == 0)
      #expect(try await visit.value(of: "document.querySelector('#job').hidden"))
      try await visit.click("#message button")
      try await visit.waitForPictures(1)
      #expect(try await visit.value(of: "location.hash") == "")
    }
  }
}

extension GatewayBrowserTests {
  /// Pictures that could not be loaded, and can be later.
  struct RetryTests {
    private static func pictures(_ count: Int) -> [CannedPicture] {
      (0..<count).map { CannedPicture(index: $0) }
    }

    private static let label = "document.querySelector('.cell a').getAttribute('aria-label')"

    @Test func `a thumbnail that fails for now keeps its placeholder, and is tried again`()
      async throws
    {
      let gateway = CannedGateway(Self.pictures(1))
      gateway.isFull = true
      let visit = try await Visit(gateway)
      try await visit.wait(
        until: "\(Self.label) === '0.jpg from example.org: busy, the gateway is full'")
      let shown: [Bool] = try await visit.value(
        of: """
          ["canvas.placeholder", ".failure"].map((part) => document.querySelector(part) !== null)
          """)
      #expect(shown == [true, false])
      gateway.isFull = false
      try await visit.waitForPictures(1)
      #expect(try await visit.value(of: Self.label) == "0.jpg from example.org")
    }

    @Test func `thumbnails are tried again when the gateway answers again`() async throws {
      let visit = try await Visit(CannedGateway(Self.pictures(3), delay: "1"))
      try await visit.setOffline(true)
      try await visit.wait(until: "\(Self.label).endsWith('The gateway does not answer.')")
      try await visit.setOffline(false)
      try await visit.waitForPictures(3)
    }

    @Test func `a thumbnail is tried again when the window gets the focus`() async throws {
      let gateway = CannedGateway(Self.pictures(1))
      gateway.isFull = true
      let visit = try await Visit(gateway)
      try await visit.wait(until: "\(Self.label).includes('the gateway is full')")
      let count: Int = try await visit.value(
        of: """
          (() => {
            let count = 0;
            const { decode } = HTMLImageElement.prototype;
            HTMLImageElement.prototype.decode = function () {
              count += 1;
              return decode.call(this);
            };
            dispatchEvent(new Event("focus"));
            return count;
          })()
          """)
      #expect(count == 1)
    }

    @Test func `an open picture that fails for now can be asked for again`() async throws {
      let gateway = CannedGateway(Self.pictures(1))
      gateway.isFull = true
      let visit = try await Visit(gateway, view: "picture=store-0")
      let button = "document.querySelector('#viewer-stage .failure button')"
      try await visit.wait(until: "\(button)?.textContent === 'Try again'")
      gateway.isFull = false
      try await visit.run("\(button).click()")
      try await visit.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 120")
      #expect(
        try await visit.value(
          of: "document.querySelector('#viewer').contains(document.activeElement)"))
    }
  }
}
