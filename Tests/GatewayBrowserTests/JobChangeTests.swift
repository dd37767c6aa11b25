import Testing

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
      try await visit.browser.run("location.hash = '#job=5'")
      try await visit.browser.wait(until: "\(Self.panel) && document.querySelector('.state')")
      gateway.change(
        CannedJob(job: 5, state: "finished", total: 1, done: 1, queued: 0),
        pictures: [CannedPicture("5", index: 0)], isEnd: true)
      try await visit.browser.wait(until: "document.querySelector('.cell[data-id=\"5-0\"] img')")
    }

    @Test func `a page of the store notices a new job`() async throws {
      let gateway = CannedGateway([CannedPicture(index: 0)])
      let visit = try await Visit(gateway)
      gateway.change(CannedJob(job: 5, total: 4, done: 1, queued: 3))
      try await visit.browser.wait(until: Self.panel)
      #expect(
        try await visit.browser.value(of: "document.querySelector('#job-title').textContent")
          == "Job 5, running, 25 %")
    }

    @Test func `a change during the pause after another one is shown`() async throws {
      let waiting = Self.waiting(2, ofJob: 1)
      let gateway = CannedGateway(job: CannedJob(total: 2, queued: 2), jobPictures: waiting)
      let visit = try await Visit(gateway, view: "job=1")
      try await visit.browser.wait(until: "document.querySelectorAll('.state').length === 2")
      let first = CannedPicture("1", index: 0)
      gateway.change(CannedJob(total: 2, done: 1, queued: 1), pictures: [first, waiting[1]])
      try await visit.browser.wait(until: "document.querySelectorAll('.state').length === 1")
      gateway.change(
        CannedJob(total: 2, done: 2, queued: 0), pictures: [first, CannedPicture("1", index: 1)])
      try await visit.browser.wait(until: "!document.querySelector('.state')")
    }

    @Test(arguments: ["finished", "running"])
    func `a job that was removed is said to be gone, and the store is offered`(state: String)
      async throws
    {
      let job = CannedJob(state: state, total: 2, done: 1, queued: state == "running" ? 1 : 0)
      let gateway = CannedGateway(
        [CannedPicture(index: 0)], job: job, jobPictures: Self.waiting(2, ofJob: 1))
      let visit = try await Visit(gateway, view: "job=1")
      try await visit.browser.wait(until: "document.querySelector('.cell') && \(Self.panel)")
      gateway.removeJob()
      try await visit.browser.wait(
        until: "document.querySelector('#message h3')?.textContent === 'This job is gone'")
      #expect(
        try await visit.browser.value(of: "document.querySelectorAll('.cell').length") == 0)
      #expect(try await visit.browser.value(of: "document.querySelector('#job').hidden"))
      try await visit.browser.click("#message button")
      try await visit.waitForPictures(1)
      #expect(try await visit.browser.value(of: "location.hash") == "")
    }
  }
}
