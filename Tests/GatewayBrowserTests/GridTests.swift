import Testing

extension GatewayBrowserTests {
  /// The pictures of a list in rows.
  struct GridTests {
    private static let boxes =
      "JSON.stringify([...document.querySelectorAll('.cell')].map((c) => c.getBoundingClientRect()))"

    private static func pictures(_ count: Int) -> [CannedPicture] {
      (0..<count).map { CannedPicture(index: $0) }
    }

    @Test func `the grid fills with pictures, and each has a text`() async throws {
      let visit = try await Visit(CannedGateway(Self.pictures(20)))
      try await visit.waitForPictures(20)
      let summary = try await visit.text(of: "#summary")
      #expect(summary == "20 pictures")
      let texts: [String] = try await visit.value(
        of: "[...document.querySelectorAll('.thumbnail img')].map((image) => image.alt)")
      #expect(Set(texts) == Set((0..<20).map { "\($0).jpg from example.org" }))
      #expect(try await visit.count(of: "img:not([alt])") == 0)
      // The thumbnail of the store, and never a larger picture.
      let paths = visit.gateway.requests.filter { $0.hasPrefix("/id/") }
      #expect(Set(paths) == Set((0..<20).map { "/id/store-\($0)" }))
      #expect(try visit.complaints() == [])
      #expect(try visit.foreignURLs() == [])
    }

    @Test func `placeholders show first, and nothing moves when the pictures arrive`() async throws
    {
      let gateway = CannedGateway(Self.pictures(20))
      gateway.gate.close()
      let visit = try await Visit(gateway)
      try await visit.wait(for: 20, of: "canvas.placeholder")
      #expect(try await visit.count(of: ".thumbnail img") == 0)
      let before: String = try await visit.value(of: Self.boxes)
      gateway.gate.open()
      try await visit.waitForPictures(20)
      #expect(try await visit.value(of: Self.boxes) == before)
      // Later they would be seen through transparent pixels.
      try await visit.wait(until: "!document.querySelector('canvas.placeholder')")
    }

    @Test func `the next page is requested when the end of the grid is near`() async throws {
      let visit = try await Visit(CannedGateway(Self.pictures(200)), width: 900)
      try await visit.waitForPictures(10)
      let isThirdPage = { (target: String) in target.contains("page=3") }
      #expect(!visit.gateway.requests.contains(where: isThirdPage))
      try await visit.scrollDown(toPicture: 60)
      #expect(visit.gateway.requests.contains(where: isThirdPage))
    }

    @Test func `a cell that leaves before the delay costs no request`() async throws {
      let visit = try await Visit(CannedGateway(Self.pictures(300), delay: "3600"))
      try await visit.scrollDown(toPicture: 250)
      #expect(!visit.gateway.requests.contains { $0.hasPrefix("/id/") })
    }

    @Test func `a long list has cells near the window only`() async throws {
      let visit = try await Visit(CannedGateway(Self.pictures(1500)))
      try await visit.scrollDown(toPicture: 1499)
      let count: Int = try await visit.value(
        of: "document.querySelector('#grid').childElementCount")
      #expect((10..<200).contains(count))
      try await visit.wait(for: ".cell[aria-posinset=\"1500\"] img")
    }

    @Test func `a picture that arrives late is not shown in the cell of another`() async throws {
      let gateway = CannedGateway(Self.pictures(60))
      gateway.gate.close()
      let visit = try await Visit(gateway)
      try await visit.wait(until: "performance.getEntriesByType('resource').length > 0")
      // The first cells then have the pictures 5, 15, 25 …, while 0, 1, 2 … are under way.
      try await visit.click("#search")
      try await visit.type("5.jpg")
      try await visit.wait(for: 6, of: ".cell")
      gateway.gate.open()
      try await visit.waitForPictures(6)
      let found: [String] = try await visit.value(
        of: """
          [...document.querySelectorAll('.cell')].map((cell) =>
            `${cell.dataset.id} ${cell.querySelector('img').naturalWidth}`)
          """)
      #expect(found == stride(from: 5, to: 60, by: 10).map { "store-\($0) \(120 + $0)" })
    }

    @Test func `a failure is a generic picture with its code and its reason`() async throws {
      let failure = CannedPicture.failed(
        "job", index: 1, code: "http_status", message: "the origin answered 404")
      let job = CannedJob(state: "finished", total: 2, done: 1, failed: 1, queued: 0)
      let visit = try await Visit(
        CannedGateway(job: job, jobPictures: [CannedPicture("job", index: 0), failure]),
        view: "job=1")
      try await visit.waitForPictures(1)
      let text = try await visit.shownText(of: "[data-state=failed]")
      let lines = ["Error of the origin", "the origin answered 404", "1.jpg"]
      #expect(text.split(separator: "\n").map(String.init) == lines)
      let label: String = try await visit.value(
        of: "document.querySelector('[data-state=failed] a').getAttribute('aria-label')")
      #expect(label.hasPrefix("1.jpg from example.org: Error of the origin"))
      #expect(try visit.complaints() == [])
    }

    @Test(arguments: [400, 1400])
    func `the text of a failure is whole, or is not there`(width: Int) async throws {
      let message =
        "10.0.0.1 is refused: private; to permit it: imgctl stop && imgctl start "
        + "--allow-network 10.0.0.1"
      let failures = ["blocked_address", "unsupported_animation", "http_status"].enumerated().map {
        CannedPicture.failed(
          "job", index: $0, code: $1,
          message: String(repeating: "\(message). ", count: 1 + 4 * $0))
      }
      let job = CannedJob(state: "finished", total: 3, failed: 3, queued: 0)
      let visit = try await Visit(
        CannedGateway(job: job, jobPictures: failures), view: "job=1", width: width)
      try await visit.wait(for: 3, of: ".failure")
      let cut: [String] = try await visit.value(
        of: """
          [...document.querySelectorAll(".failure > b, .failure > span")].flatMap((text) => {
            const tile = text.parentElement.getBoundingClientRect();
            const box = text.getBoundingClientRect();
            const isWhole = box.top >= tile.top && box.bottom <= tile.bottom
              && box.left >= tile.left && box.right <= tile.right
              && text.scrollHeight <= text.clientHeight + 1;
            const isAbsent = box.left >= tile.right;
            return isWhole || (isAbsent && text.localName === "span") ? [] : [text.textContent];
          })
          """)
      #expect(cut == [])
    }

    @Test func `a tiny picture is enlarged with sharp pixels, and has a frame`() async throws {
      var pictures = Self.pictures(4)
      for (index, side) in [1, 16, 32, 48].enumerated() {
        (pictures[index].width, pictures[index].height) = (side, side)
      }
      let visit = try await Visit(CannedGateway(pictures))
      try await visit.waitForPictures(4)
      let sides: [Double] = try await visit.value(
        of: "[...document.querySelectorAll('.thumbnail img')].map((image) => image.clientWidth)")
      #expect(sides == [64, 64, 64, 48])
      let styles: [String] = try await visit.value(
        of: """
          [...document.querySelectorAll(".thumbnail img")].map((image) => {
            const { imageRendering, outlineStyle } = getComputedStyle(image);
            return `${imageRendering} ${outlineStyle}`;
          })
          """)
      #expect(Set(styles) == ["pixelated solid"])
      try await visit.click(".cell:first-child a")
      try await visit.wait(
        until: "document.querySelector('.frame.enlarged img')?.clientWidth === 256")
    }

    @Test func `a search says how many match, or at least how many while more may follow`()
      async throws
    {
      let visit = try await Visit(CannedGateway(Self.pictures(200)), view: "q=jpg", width: 900)
      try await visit.wait(
        until: "/^at least \\d+ matches$/.test(document.querySelector('#summary').textContent)")
      try await visit.scrollDown(toPicture: 199)
      try await visit.wait(
        until: "document.querySelector('#summary').textContent === '200 matches'")
      try await visit.click("#search")
      try await visit.run("document.querySelector('#search').select()")
      try await visit.type("/199.")
      try await visit.wait(until: "document.querySelector('#summary').textContent === '1 match'")
    }

    @Test func `a thumbnail that is gone shows why`() async throws {
      var pictures = Self.pictures(3)
      pictures[1] = CannedPicture("none", index: 1)
      let gateway = CannedGateway(pictures)
      let visit = try await Visit(gateway)
      gateway.remove("none-1")
      try await visit.wait(for: ".thumbnail .failure")
      let text = try await visit.shownText(of: ".thumbnail .failure")
      #expect(text.contains("the gateway has nothing here"))
    }

    @Test func `a URL is shown as text, whatever it has in it`() async throws {
      var pictures = Self.pictures(2)
      pictures[0].url = "https://example.org/<img src=x onerror=\"document.title='no'\">.jpg"
      pictures[1].url = "javascript:document.title='no'"
      let visit = try await Visit(CannedGateway(pictures))
      try await visit.waitForPictures(2)
      for _ in 0..<2 {
        try await visit.click(".cell:first-child a")
        try await visit.wait(until: "document.querySelector('#viewer').open")
        try await visit.press(.right)
        try await visit.wait(until: "document.querySelector('#viewer').dataset.id === 'store-1'")
        let links = try await visit.count(of: "[href^=\"javascript:\"]")
        #expect(links == 0)
        try await visit.press(.escape)
        try await visit.wait(until: "location.hash === ''")
      }
      #expect(try await visit.value(of: "document.title") == "imgctl gallery")
      #expect(try await visit.count(of: "[onerror]") == 0)
      #expect(try visit.complaints() == [])
    }

    @Test func `a narrow window has its name and needs no horizontal scrolling`() async throws {
      let job = CannedJob(total: 40, done: 30, failed: 5, queued: 5)
      let pictures = (0..<40).map { CannedPicture("job", index: $0) }
      let visit = try await Visit(
        CannedGateway(job: job, jobPictures: pictures), view: "job=1", width: 400)
      try await visit.waitForPictures(5)
      let width: Int = try await visit.value(of: "document.scrollingElement.scrollWidth")
      #expect(width <= 400)
      let height: Double = try await visit.value(
        of: "document.querySelector('h1').getBoundingClientRect().height")
      #expect(height > 10)
      #expect(try await visit.shownText(of: "h1") == "imgctl gallery")
    }

    @Test(arguments: [("no-preference", "appear"), ("reduce", "none")])
    func `pictures fade in unless motion is unwanted`(preference: String, animation: String)
      async throws
    {
      let visit = try await Visit(
        CannedGateway(Self.pictures(1)), media: ["prefers-reduced-motion": preference])
      try await visit.waitForPictures(1)
      let name: String = try await visit.value(
        of: "getComputedStyle(document.querySelector('.thumbnail img')).animationName")
      #expect(name == animation)
    }
  }
}

extension GatewayBrowserTests {
  /// The field for a part of a URL.
  struct SearchTests {
    private static func visit() async throws -> Visit {
      let job = CannedJob(state: "finished", total: 12, done: 12, queued: 0)
      let pictures = (0..<12).map { CannedPicture("1", index: $0) }
      return try await Visit(CannedGateway(job: job, jobPictures: pictures), view: "job=1")
    }

    private static func waitForCells(_ count: Int, of visit: Visit) async throws {
      try await visit.wait(for: count, of: ".cell")
    }

    private static let text = "document.querySelector('#search').value"

    @Test func `the back button also leads the field back, which has the focus`() async throws {
      let visit = try await Self.visit()
      try await Self.waitForCells(12, of: visit)
      try await visit.click("#search")
      try await visit.type("/11.")
      try await Self.waitForCells(1, of: visit)
      try await visit.run("history.back()")
      try await Self.waitForCells(12, of: visit)
      #expect(try await visit.value(of: Self.text) == "")
    }

    @Test func `a space at the end stays, as a word may follow it`() async throws {
      let visit = try await Self.visit()
      try await visit.click("#search")
      try await visit.type("/11. ")
      try await Self.waitForCells(1, of: visit)
      #expect(try await visit.value(of: Self.text) == "/11. ")
    }

    @Test func `a text that is too long in bytes is not searched for, and the view stays`()
      async throws
    {
      let visit = try await Self.visit()
      try await Self.waitForCells(12, of: visit)
      try await visit.click("#search")
      try await visit.type(String(repeating: "é", count: 65))
      try await visit.wait(
        until: "document.querySelector('#search-error')?.textContent.includes('128 bytes')")
      #expect(try await visit.value(of: "location.hash") == "#job=1")
      #expect(try await visit.count(of: ".cell") == 12)
      try await visit.run("document.querySelector('#search').select()")
      try await visit.type("/11.")
      try await Self.waitForCells(1, of: visit)
      #expect(try await visit.text(of: "#search-error") == "")
    }

    @Test func `an address with a filter that is refused leads to its job`() async throws {
      let visit = try await Self.visit()
      let long = String(repeating: "a", count: 129)
      try await visit.run("location.hash = '#job=1&q=\(long)'")
      try await visit.wait(
        until: "document.querySelector('#message button')?.textContent === 'Remove the filter'")
      try await visit.click("#message button")
      try await Self.waitForCells(12, of: visit)
      #expect(try await visit.value(of: "location.hash") == "#job=1")
    }
  }
}

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
      try await visit.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 2120")
      for (key, index) in [(Browser.Key.right, 2_001), (.left, 2_000), (.left, 1_999)] {
        try await visit.press(key)
        try await visit.wait(
          until: "document.querySelector('#viewer-stage img')?.naturalWidth === \(120 + index)")
        #expect(try await visit.value(of: "location.hash") == "#job=1&picture=1-\(index)")
      }
      #expect(Self.listCount(visit) < 5)
    }

    @Test func `the last line of a job has no next one`() async throws {
      let visit = try await Self.visit("job=1&picture=1-2999")
      try await visit.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 3119")
      let isDisabled: [Bool] = try await visit.value(
        of: "['previous', 'next'].map((s) => document.querySelector(`#viewer-${s}`).disabled)")
      #expect(isDisabled == [false, true])
    }

    @Test(arguments: ["picture=none", "job=1&q=jpg&picture=1-9999", "job=1&picture=1-9999"])
    func `a picture that does not exist is not sought`(view: String) async throws {
      let visit = try await Self.visit(view)
      try await visit.wait(
        until: "['previous', 'next'].every((s) => document.querySelector(`#viewer-${s}`).disabled)")
      try await visit.press(.escape)
      try await visit.waitForPictures(10)
      #expect(Self.listCount(visit) < 15)
    }
  }
}
