import Testing

extension GatewayBrowserTests {
  /// One picture in its full size.
  struct ViewerTests {
    private static func visit(_ view: String = "") async throws -> Visit {
      let visit = try await Visit(
        CannedGateway((0..<90).map { CannedPicture(index: $0) }), view: view, width: 800)
      return visit
    }

    /// Scrolls to a picture in the middle of the list and clicks on it.
    ///
    /// - Returns: the position of the page.
    private func openPicture(_ index: Int, of visit: Visit) async throws -> Int {
      let cell = ".cell[aria-posinset='\(index + 1)']"
      try await visit.run(
        """
        while (!document.querySelector("\(cell)")) {
          scrollBy(0, 300);
          await new Promise(requestAnimationFrame);
        }
        scrollBy(0, document.querySelector("\(cell)").getBoundingClientRect().top - 300);
        await new Promise(requestAnimationFrame);
        """)
      try await visit.wait(until: "document.querySelector(`\(cell) img`)")
      let position: Int = try await visit.value(of: "Math.round(scrollY)")
      try await visit.click("\(cell) a")
      try await visit.wait(until: "document.querySelector('#viewer').open")
      return position
    }

    @Test func `a click opens a picture with its facts`() async throws {
      let visit = try await Self.visit()
      try await visit.waitForPictures(1)
      try await visit.click(".cell:first-child a")
      try await visit.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 120")
      let facts = try await visit.shownText(of: "#viewer-facts")
      for fact in ["https://example.org/store/0.jpg", "120 × 90", "SVG", "1.2 KiB", "the store"] {
        #expect(facts.contains(fact), "\(fact)")
      }
      #expect(try await visit.value(of: "location.hash") == "#picture=store-0")
      #expect(try await visit.count(of: "img:not([alt])") == 0)
      #expect(try visit.complaints() == [])
      #expect(try visit.foreignURLs() == [])
    }

    @Test func `a spinner turns until the facts of a picture are there`() async throws {
      let visit = try await Self.visit()
      try await visit.waitForPictures(1)
      try await visit.run(
        """
        const { fetch } = window;
        const held = new Promise((resolve) => { window.release = resolve; });
        window.fetch = (...request) => held.then(() => fetch(...request));
        location.hash = "#picture=store-89";
        """)
      let spinner = "document.querySelector('#viewer-stage .spinner')"
      try await visit.wait(until: spinner)
      let turns = "\(spinner).getAnimations().map((one) => `${one.animationName} ${one.playState}`)"
      #expect(try await visit.value(of: "\(turns).join()") == "turn running")
      #expect(try await visit.value(of: "\(spinner).getBoundingClientRect().width >= 18") == true)
      try await visit.run("window.release();")
      try await visit.wait(until: "document.querySelector('#viewer-stage img')")
      #expect(try await visit.count(of: "#viewer-stage .spinner") == 0)
    }

    /// A picture of 120 × 90 pixels whose source has these sides is open.
    private static func visit(sourceWidth: Int, height: Int) async throws -> Visit {
      var picture = CannedPicture(index: 0)
      picture.source = CannedSource(width: sourceWidth, height: height)
      return try await Visit(CannedGateway([picture]), view: "picture=store-0", width: 800)
    }

    private static let large = "[...document.querySelectorAll('#viewer-facts button')][0]"

    @Test func `a picture is shown large if asked, and whole`() async throws {
      let visit = try await Self.visit(sourceWidth: 4_000, height: 3_000)
      try await visit.wait(until: "\(Self.large)?.textContent === 'Show large'")
      #expect(!visit.gateway.requests.contains { $0.hasPrefix("/id/store-0/2") })
      try await visit.run("\(Self.large).click()")
      try await visit.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 2048")
      // A preview has the same width.
      try await visit.wait(
        until: "document.activeElement.textContent === 'Shown with 2,048 × 1,536 pixels.'")
      #expect(visit.gateway.requests.contains("/id/store-0/2048/1536"))
      #expect(try visit.complaints() == [])
    }

    @Test func `a picture that arrives shows its previews above its ThumbHash, then itself alone`()
      async throws
    {
      let visit = try await Self.visit(sourceWidth: 400, height: 300)
      try await visit.wait(until: "\(Self.large)?.textContent === 'Show large'")
      visit.gateway.gate.close()
      try await visit.run("\(Self.large).click()")
      let layers = "[...document.querySelector('#viewer-stage .frame').children]"
      try await visit.wait(until: "\(layers)[1]?.dataset.preview === '1'")
      #expect(
        try await visit.value(of: "\(layers).map((layer) => layer.localName).join()")
          == "canvas,img")
      #expect(!visit.gateway.requests.contains("/id/store-0/400/300"))
      visit.gateway.gate.open()
      try await visit.wait(
        until: "document.activeElement.textContent === 'Shown with 400 × 300 pixels.'")
      let shown: String = try await visit.value(
        of: "\(layers).map((layer) => layer.src).join()")
      #expect(shown.hasSuffix("/id/store-0/400/300"))
      #expect(try visit.complaints() == [])
    }

    @Test func `a large picture that fails can be asked for again`() async throws {
      let visit = try await Self.visit(sourceWidth: 200, height: 150)
      visit.gateway.isOriginPaused = true
      try await visit.wait(until: "\(Self.large)?.textContent === 'Show large'")
      try await visit.run("\(Self.large).click()")
      try await visit.wait(until: "\(Self.large)?.textContent === 'Try again'")
      let facts = try await visit.shownText(of: "#viewer-facts")
      #expect(facts.contains("the origin asks for a pause"))
      #expect(
        try await visit.value(
          of: "document.querySelector('#viewer-stage img').naturalWidth") == 120)
      visit.gateway.isOriginPaused = false
      try await visit.run("\(Self.large).click()")
      try await visit.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 200")
    }

    @Test func `a picture in the size of its source has no large one`() async throws {
      let visit = try await Self.visit(sourceWidth: 120, height: 90)
      try await visit.wait(
        until: "document.querySelector('#viewer-facts').innerText.includes('JPEG, 120')")
      let count = try await visit.count(of: "#viewer-facts button")
      #expect(count == 1, "only that of EXIF")
    }

    @Test(arguments: ["back", "Escape", "close"])
    func `leaving a picture leads back to the same place`(way: String) async throws {
      let visit = try await Self.visit()
      let position = try await openPicture(50, of: visit)
      #expect(position > 500)
      switch way {
      case "back": try await visit.run("history.back()")
      case "Escape": try await visit.press(.escape)
      default: try await visit.click("#viewer-close")
      }
      try await visit.wait(until: "location.hash === '' && !document.querySelector('#viewer').open")
      #expect(try await visit.value(of: "Math.round(scrollY)") == position)
      let focused: String = try await visit.value(
        of: "document.activeElement.closest('.cell')?.dataset.id ?? 'none'")
      #expect(focused == "store-50")
      #expect(try await visit.value(of: "location.hash") == "")
    }

    @Test func `arrow keys lead to the neighbours, and the focus goes along`() async throws {
      let visit = try await Self.visit()
      _ = try await openPicture(28, of: visit)
      for index in [29, 30, 31] {
        try await visit.press(.right)
        try await visit.wait(
          until: "document.querySelector('#viewer').dataset.id === 'store-\(index)'")
      }
      try await visit.press(.left)
      try await visit.wait(until: "document.querySelector('#viewer').dataset.id === 'store-30'")
      // One step back leads to the grid, however many pictures were shown.
      try await visit.run("history.back()")
      try await visit.wait(until: "!document.querySelector('#viewer').open")
      let focused: String = try await visit.value(
        of: "document.activeElement.closest('.cell')?.dataset.id ?? 'none'")
      #expect(focused == "store-30")
    }

    @Test func `the address of a picture far down the list leads to its neighbours`() async throws {
      let pictures = (0..<450).map { CannedPicture(index: $0) }
      let visit = try await Visit(CannedGateway(pictures), view: "picture=store-420", width: 800)
      try await visit.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 540")
      for (key, index) in [(Browser.Key.right, 421), (.left, 420), (.left, 419)] {
        try await visit.press(key)
        try await visit.wait(
          until: "document.querySelector('#viewer').dataset.id === 'store-\(index)'")
      }
      try await visit.press(.escape)
      try await visit.wait(
        until: "document.activeElement.closest('.cell')?.dataset.id === 'store-419'")
    }

    @Test func `the address of a picture opens it with facts, and can be left`() async throws {
      let visit = try await Self.visit("picture=store-3")
      try await visit.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 123")
      try await visit.wait(for: "#viewer-facts a[download]")
      let facts: [String] = try await visit.value(
        of: """
          [...document.querySelectorAll("#viewer-facts dl > div")].map((fact) =>
            [...fact.children].map((part) => part.textContent).join(": "))
          """)
      #expect(facts.contains("Host: example.org"))
      #expect(facts.contains("Size: 123 × 90"))
      let path: String = try await visit.value(
        of: "document.querySelector('#viewer-facts a[download]').getAttribute('href')")
      #expect(path == "/id/store-3")
      try await visit.press(.escape)
      try await visit.wait(until: "!document.querySelector('#viewer').open")
      try await visit.waitForPictures(4)
      #expect(try await visit.value(of: "location.pathname") == "/")
    }

    @Test(arguments: [("light", 400), ("dark", 400), ("light", 1400), ("dark", 1400)])
    func `no strip beside an open picture is lighter than what is around it`(
      scheme: String, width: Int
    ) async throws {
      let pictures = (0..<90).map { CannedPicture(index: $0) }
      let visit = try await Visit(
        CannedGateway(pictures), view: "picture=store-3", width: width,
        media: ["prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"])
      try await visit.wait(for: "#viewer-stage img")
      let strip = try await visit.colour(x: width - 4, y: 15)
      let beside = try await visit.colour(x: width - 20, y: 15)
      #expect(zip(strip, beside).allSatisfy { abs($0 - $1) <= 2 }, "\(strip), \(beside)")
    }

    @Test func `a notice is above an open picture`() async throws {
      let job = CannedJob(total: 1, done: 0, queued: 1)
      let gateway = CannedGateway(job: job, jobPictures: [CannedPicture("job", index: 0)])
      let visit = try await Visit(gateway, view: "job=1&picture=job-0")
      try await visit.wait(for: "#viewer-stage img")
      gateway.change(CannedJob(state: "finished", total: 1, done: 1, queued: 0), isEnd: true)
      try await visit.wait(
        until: """
          (() => {
            const box = document.querySelector(".notice")?.getBoundingClientRect();
            return box && document.elementFromPoint(box.x + 20, box.y + 10)?.closest(".notice");
          })()
          """)
    }

    @Test func `an address of no picture says so`() async throws {
      let visit = try await Self.visit("picture=none")
      try await visit.wait(for: "#viewer-stage .failure")
      try await visit.wait(
        until: "['previous', 'next'].every((s) => document.querySelector(`#viewer-${s}`).disabled)")
      let text = try await visit.shownText(of: "#viewer-stage")
      #expect(text.contains("the gateway has nothing here"))
    }

    @Test func `the keyboard moves in the grid and opens a picture`() async throws {
      let visit = try await Self.visit()
      try await visit.waitForPictures(10)
      try await visit.run("document.querySelector('.cell a').focus()")
      try await visit.press(.right)
      try await visit.press(.right)
      try await visit.press(.enter)
      try await visit.wait(until: "document.querySelector('#viewer').open")
      #expect(try await visit.value(of: "location.hash") == "#picture=store-2")
    }
  }
}

extension GatewayBrowserTests {
  /// The page for people who use a keyboard, a screen reader or much contrast.
  struct AccessibilityTests {
    private static let job = CannedJob(
      state: "running", total: 3, done: 1, failed: 1, retryable: 1, queued: 1)

    private static func pictures() -> [CannedPicture] {
      var waiting = CannedPicture("job", index: 2)
      waiting.state = "waiting"
      return [
        CannedPicture("job", index: 0),
        .failed("job", index: 1, code: "timeout", message: "no answer for 10 s"), waiting,
      ]
    }

    private static func visit(
      _ view: String = "job=1", job: CannedJob = job, scheme: String = "light"
    ) async throws -> Visit {
      let visit = try await Visit(
        CannedGateway(job: job, jobPictures: pictures()), view: view,
        media: ["prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"])
      try await visit.waitForPictures(1)
      return visit
    }

    /// The elements that Tab leads to, and whether each has an outline that can be seen.
    private func tabStops(_ visit: Visit, count: Int) async throws -> [[String]] {
      var stops: [[String]] = []
      for _ in 0..<count {
        try await visit.press(.tab)
        stops.append(
          try await visit.value(
            of: """
              (() => {
                const element = document.activeElement;
                const { outlineStyle, outlineWidth } = getComputedStyle(element);
                const isVisible = outlineStyle === "solid" && parseFloat(outlineWidth) >= 2;
                const name = element.id || element.parentElement.dataset.id || element.textContent;
                return [name, isVisible ? "outline" : `${outlineStyle} ${outlineWidth}`];
              })()
              """))
      }
      return stops
    }

    @Test func `every tile has a role and a name that says its state`() async throws {
      let visit = try await Self.visit()
      let nodes = try await visit.accessibleNodes()
      #expect(
        nodes.filter { $0.role == "link" && $0.name.contains("example.org") }.map(\.name) == [
          "0.jpg from example.org",
          "1.jpg from example.org: No answer in time, no answer for 10 s",
          "2.jpg from example.org: waiting",
        ])
      #expect(nodes.filter { $0.role == "listitem" }.count == 3)
      #expect(nodes.contains { $0.role == "list" && $0.name == "Job 1" })
    }

    @Test func `everything that can be used has a name`() async throws {
      let visit = try await Self.visit()
      let roles: Set = [
        "link", "button", "combobox", "searchbox", "image", "dialog", "progressbar", "region",
        "complementary", "main", "search",
      ]
      for view in ["", "&picture=job-0"] {
        try await visit.run("location.hash = '#job=1\(view)'")
        try await visit.wait(until: "document.querySelector('#viewer').open === \(!view.isEmpty)")
        let nodes = try await visit.accessibleNodes().filter { roles.contains($0.role) }
        #expect(nodes.count > 4)
        // The form is named by its role alone.
        #expect(nodes.filter { $0.name.isEmpty && $0.role != "search" }.map(\.role) == [])
      }
    }

    @Test func `progress and notices are told`() async throws {
      let visit = try await Self.visit(
        job: CannedJob(state: "finished", total: 3, done: 1, failed: 2, retryable: 1, queued: 0))
      try await visit.click("#job-retry")
      try await visit.wait(for: ".notice")
      let nodes = try await visit.accessibleNodes()
      #expect(nodes.contains { $0.role == "progressbar" && $0.name == "Progress of the job" })
      #expect(nodes.contains { $0.role == "status" && $0.properties["live"] == "polite" })
      #expect(nodes.contains { $0.role == "alert" && $0.properties["live"] == "assertive" })
      #expect(
        nodes.contains {
          $0.role == "region" && $0.name == "Notices" && $0.properties["live"] == "polite"
        })
    }

    @Test func `a dialog has the name of its picture, takes the focus and gives it back`()
      async throws
    {
      let visit = try await Self.visit()
      try await visit.run("document.querySelector('.cell a').focus()")
      try await visit.press(.enter)
      try await visit.wait(
        until: "document.querySelector('#viewer').contains(document.activeElement)")
      let nodes = try await visit.accessibleNodes()
      #expect(nodes.contains { $0.role == "dialog" && $0.name == "0.jpg" })
      #expect(!nodes.contains { $0.role == "searchbox" })
      try await visit.press(.escape)
      try await visit.wait(until: "document.activeElement.parentElement.dataset.id === 'job-0'")
    }

    @Test(arguments: ["light", "dark"])
    func `Tab leads to all controls, and the focus can be seen`(scheme: String) async throws {
      let visit = try await Self.visit(
        job: CannedJob(state: "finished", total: 3, done: 1, failed: 2, retryable: 1, queued: 0),
        scheme: scheme)
      let stops = try await tabStops(visit, count: 9)
      #expect(
        stops.map(\.[0]) == [
          "skip", "collection", "outcome", "search", "job-failures", "job-retry", "job-0", "job-1",
          "job-2",
        ])
      #expect(stops.allSatisfy { $0[1] == "outline" }, "\(stops)")
      try await visit.click(".cell a")
      try await visit.wait(for: "#viewer-facts button")
      try await visit.run("document.querySelector('#viewer-next').focus()")
      let inside = try await tabStops(visit, count: 5)
      #expect(
        inside.map(\.[0]) == [
          "viewer-close", "viewer-facts", "https://example.org/job/0.jpg", "Download", "Show EXIF",
        ])
      #expect(inside.allSatisfy { $0[1] == "outline" }, "\(inside)")
    }

    /// The texts that are shown, with their contrasts.
    private static let contrasts = """
      (() => {
        const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const luminance = (colour) => channels(colour).slice(0, 3)
          .map((value) => value / 255)
          .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
          .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
        const ground = (element) => {
          const colour = getComputedStyle(element).backgroundColor;
          return (channels(colour)[3] ?? 1) === 1 ? colour : ground(element.parentElement);
        };
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const found = [];
        while (walker.nextNode()) {
          const { parentElement: element, textContent } = walker.currentNode;
          if (textContent.trim() && element.checkVisibility()
              && element.getClientRects().length > 0 && !element.closest(":disabled")) {
            const one = luminance(getComputedStyle(element).color);
            const other = luminance(ground(element));
            const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            found.push({ text: textContent.trim(), contrast });
          }
        }
        return found;
      })()
      """

    /// The texts whose contrast is below 4.5 to 1 (WCAG 2.2, success criterion 1.4.3).
    private func faintTexts(_ visit: Visit) async throws -> [String] {
      struct Shown: Decodable {
        let text: String
        let contrast: Double
      }
      let shown: [Shown] = try await visit.value(of: Self.contrasts)
      #expect(shown.count >= 10)
      return shown.filter { $0.contrast < 4.5 }.map { "\($0.text): \($0.contrast)" }
    }

    @Test(arguments: ["light", "dark"])
    func `text has enough contrast`(scheme: String) async throws {
      let visit = try await Self.visit(scheme: scheme)
      #expect(try await faintTexts(visit) == [])
      try await visit.click(".cell:nth-child(2) a")
      try await visit.wait(for: "#viewer-facts dl")
      #expect(try await faintTexts(visit) == [])
      try await visit.run("location.hash = '#job=1&q=none'")
      try await visit.wait(for: "#message h3")
      #expect(try await faintTexts(visit) == [])
    }
  }
}
