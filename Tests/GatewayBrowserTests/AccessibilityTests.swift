import Testing

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
        try await visit.browser.press(.tab)
        stops.append(
          try await visit.browser.value(
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
      let nodes = try await visit.browser.accessibleNodes()
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
        try await visit.browser.run("location.hash = '#job=1\(view)'")
        try await visit.browser.wait(
          until: "document.querySelector('#viewer').open === \(!view.isEmpty)")
        let nodes = try await visit.browser.accessibleNodes().filter { roles.contains($0.role) }
        #expect(nodes.count > 4)
        // The form is named by its role alone.
        #expect(nodes.filter { $0.name.isEmpty && $0.role != "search" }.map(\.role) == [])
      }
    }

    @Test func `progress and notices are told`() async throws {
      let visit = try await Self.visit(
        job: CannedJob(state: "finished", total: 3, done: 1, failed: 2, retryable: 1, queued: 0))
      try await visit.browser.click("#job-retry")
      try await visit.browser.wait(until: "document.querySelector('.notice')")
      let nodes = try await visit.browser.accessibleNodes()
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
      try await visit.browser.run("document.querySelector('.cell a').focus()")
      try await visit.browser.press(.enter)
      try await visit.browser.wait(
        until: "document.querySelector('#viewer').contains(document.activeElement)")
      let nodes = try await visit.browser.accessibleNodes()
      #expect(nodes.contains { $0.role == "dialog" && $0.name == "0.jpg" })
      #expect(!nodes.contains { $0.role == "searchbox" })
      try await visit.browser.press(.escape)
      try await visit.browser.wait(
        until: "document.activeElement.parentElement.dataset.id === 'job-0'")
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
      try await visit.browser.click(".cell a")
      try await visit.browser.wait(until: "document.querySelector('#viewer-facts button')")
      try await visit.browser.run("document.querySelector('#viewer-next').focus()")
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
      let shown: [Shown] = try await visit.browser.value(of: Self.contrasts)
      #expect(shown.count >= 10)
      return shown.filter { $0.contrast < 4.5 }.map { "\($0.text): \($0.contrast)" }
    }

    @Test(arguments: ["light", "dark"])
    func `text has enough contrast`(scheme: String) async throws {
      let visit = try await Self.visit(scheme: scheme)
      #expect(try await faintTexts(visit) == [])
      try await visit.browser.click(".cell:nth-child(2) a")
      try await visit.browser.wait(until: "document.querySelector('#viewer-facts dl')")
      #expect(try await faintTexts(visit) == [])
      try await visit.browser.run("location.hash = '#job=1&q=none'")
      try await visit.browser.wait(until: "document.querySelector('#message h3')")
      #expect(try await faintTexts(visit) == [])
    }
  }
}
