import Testing

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
      try await visit.browser.wait(
        until: "\(Self.label) === '0.jpg from example.org: busy, the gateway is full'")
      let shown: [Bool] = try await visit.browser.value(
        of: """
          ["canvas.placeholder", ".failure"].map((part) => document.querySelector(part) !== null)
          """)
      #expect(shown == [true, false])
      gateway.isFull = false
      try await visit.waitForPictures(1)
      #expect(try await visit.browser.value(of: Self.label) == "0.jpg from example.org")
    }

    @Test func `thumbnails are tried again when the gateway answers again`() async throws {
      let visit = try await Visit(CannedGateway(Self.pictures(3), delay: "1"))
      try await visit.browser.setOffline(true)
      try await visit.browser.wait(until: "\(Self.label).endsWith('The gateway does not answer.')")
      try await visit.browser.setOffline(false)
      try await visit.waitForPictures(3)
    }

    @Test func `a thumbnail is tried again when the window gets the focus`() async throws {
      let gateway = CannedGateway(Self.pictures(1))
      gateway.isFull = true
      let visit = try await Visit(gateway)
      try await visit.browser.wait(until: "\(Self.label).includes('the gateway is full')")
      let count: Int = try await visit.browser.value(
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
      try await visit.browser.wait(until: "\(button)?.textContent === 'Try again'")
      gateway.isFull = false
      try await visit.browser.run("\(button).click()")
      try await visit.browser.wait(
        until: "document.querySelector('#viewer-stage img')?.naturalWidth === 120")
      #expect(
        try await visit.browser.value(
          of: "document.querySelector('#viewer').contains(document.activeElement)"))
    }
  }
}
