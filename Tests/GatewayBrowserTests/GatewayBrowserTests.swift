import FoundationEssentials
import ImgClient
import ImgGateway
import ImgHTTP
import ImgSettings
import Testing

/// The gallery in a real browser, one test after the other: a browser shows one window well.
@Suite(
  .serialized, .timeLimit(.minutes(5)), SharedChromium(),
  .enabled(if: Chromium.isInstalled, "Chromium is not installed"))
struct GatewayBrowserTests {}

/// A browser that shows the gallery of a gateway, which ends with it.
final class Visit: Browser {
  let gateway: CannedGateway
  private let server: HTTPServer

  /// - Parameters:
  ///   - view: the fragment of the URL, such as `job=1`.
  ///   - width: of the window in pixels.
  ///   - media: features of media queries.
  init(
    _ gateway: CannedGateway, view: String = "", width: Int = 1400, media: [String: String] = [:]
  ) async throws {
    self.gateway = gateway
    server = try HTTPServer(.init(listener: .tcp(host: "127.0.0.1", port: 0)), handler: gateway)
    try await super.init(width: width, media: media)
    try await open(view.isEmpty ? address : "\(address)#\(view)")
    try await wait(until: "document.querySelector('main')?.ariaBusy === 'false'")
  }

  /// That of the page.
  var address: String { "\(server.address)/" }

  /// Waits until pictures are there, each with all its pixels.
  func waitForPictures(_ count: Int) async throws {
    try await wait(until: "document.querySelectorAll('.thumbnail img').length >= \(count)")
  }

  /// Scrolls to the end of what is there, page after page, until a picture has a cell.
  ///
  /// - Parameter index: its place in the list, from 0.
  func scrollDown(toPicture index: Int) async throws {
    try await run(
      """
      while (!document.querySelector('.cell[aria-posinset="\(index + 1)"]')) {
        scrollTo(0, scrollY + innerHeight);
        await new Promise(requestAnimationFrame);
      }
      """)
  }

  /// The requests of other hosts than that of the gateway.
  func foreignURLs() throws -> [String] {
    try requestedURLs().filter { !$0.hasPrefix(address) && !$0.hasPrefix("about:") }
  }
}

extension GatewayBrowserTests {
  /// The gallery with the gateway itself, over a cluster in memory.
  struct WholeGatewayTests {
    private let cluster = InMemoryCluster()

    /// The address of a gateway that runs as long as the server.
    private func serve() throws -> HTTPServer {
      try HTTPServer(
        .init(listener: .tcp(host: "127.0.0.1", port: 0)),
        handler: Gateway(cluster, settings: GatewaySettings(), isLocal: true))
    }

    private func image(_ text: String) -> LoadedImage {
      LoadedImage(
        bytes: ImagePlaceholder.text(text).svg(width: 120, height: 90), format: .svg, width: 120,
        height: 90,
        source: SourcePicture(format: .png, width: 1200, height: 900, byteCount: 9_000),
        origin: .network)
    }

    @Test func `a job shows its pictures and its failures`() async throws {
      let urls = (0..<12).map { "https://example.org/\($0).jpg" }
      for url in urls.dropLast() { cluster.serve(url, image(url)) }
      let client = ImageClient(transport: cluster, memoryCache: nil)
      let job = try await client.jobs.submit(urls)
      for try await _ in client.jobs.updates(of: job) {}
      let server = try serve()
      let browser = try await Browser()
      try await browser.open("\(server.address)/#job=\(job)")
      try await browser.wait(for: 11, of: ".thumbnail img")
      try await browser.wait(
        until: "document.querySelector('[data-state=failed]')?.textContent.includes('404')")
      try await browser.click(".cell[aria-posinset=\"1\"]")
      try await browser.wait(until: "document.querySelector('dialog')?.open")
      try await browser.wait(
        until: "document.querySelector('dialog').textContent.includes('× 900')")
      #expect(try browser.complaints() == [])
      await server.stop()
    }

    @Test func `the store is shown without a job`() async throws {
      let client = ImageClient(transport: cluster, memoryCache: nil)
      for index in 0..<40 {
        let url = "https://example.org/\(index).jpg"
        cluster.serve(url, image(url))
        _ = try await client.image(for: url, size: 256)
      }
      let server = try serve()
      let browser = try await Browser()
      try await browser.open("\(server.address)/")
      try await browser.wait(until: "document.querySelectorAll('.thumbnail img').length >= 20")
      #expect(try browser.requestedURLs().contains { $0.contains("/v2/list") })
      #expect(try browser.complaints() == [])
      await server.stop()
    }
  }
}

extension GatewayBrowserTests {
  /// Modules of the page that compute something.
  struct ModuleTests {
    /// The address of a module, for a page of the gallery.
    private func module(_ name: String, in visit: Visit) async throws -> String {
      let script: String = try await visit.value(of: "document.querySelector('script').src")
      return script.replacing("gallery.js", with: name)
    }

    @Test func `a ThumbHash is drawn as the library draws it`() async throws {
      struct Drawing: Decodable {
        let width: Int
        let height: Int
        let bytes: [UInt8]
      }
      let visit = try await Visit(CannedGateway())
      let module = try await module("thumbhash.js", in: visit)
      // A landscape, a portrait, and one with transparency.
      for hash in [
        "2QcaDIJqiHePh4h6iGdZYIcHZQ==", "ljoKNRAJZ4iHF4eHeHV5dwmIkYAY",
        "W0iCSwgofV9lRll9X9b3ZQdVpoViV1g=",
      ] {
        let drawing: Drawing = try await visit.value(
          of: """
            import("\(module)").then(({ thumbHashDrawing }) => {
              const { width, height, data } = thumbHashDrawing("\(hash)");
              return { width, height, bytes: [...data] };
            })
            """)
        let bytes = try #require(Data(base64Encoded: hash))
        let expected = try #require(
          ImagePlaceholder.thumbHash(Array(bytes)).pixels(
            width: drawing.width, height: drawing.height))
        let rows = (0..<expected.height).flatMap { Array(expected.row($0)) }
        #expect(drawing.bytes.count == rows.count)
        #expect(zip(drawing.bytes, rows).allSatisfy { abs(Int($0) - Int($1)) <= 1 }, "\(hash)")
      }
    }

    @Test func `a text that is no ThumbHash is drawn as nothing, or as something`() async throws {
      let visit = try await Visit(CannedGateway())
      let module = try await module("thumbhash.js", in: visit)
      let sizes: [Int] = try await visit.value(
        of: """
          import("\(module)").then(({ thumbHashDrawing }) =>
            ["", "AA==", "no base64 <>", "FggOBYCbd4d/", "/".repeat(32)].map((text) =>
              thumbHashDrawing(text)?.width ?? 0))
          """)
      #expect(sizes.prefix(3) == [0, 0, 0])
      #expect(sizes.allSatisfy { $0 <= 32 })
    }

    @Test func `rows fill the width, and never change when pictures follow`() async throws {
      let visit = try await Visit(CannedGateway())
      let module = try await module("rows.js", in: visit)
      let faults: [String] = try await visit.value(
        of: """
          import("\(module)").then(({ Rows }) => {
            const faults = [];
            for (const width of [320, 400, 1400, 4000]) {
              const rows = new Rows({ width, rowHeight: 180, gap: 8 });
              let known = "";
              for (let i = 0; i < 500; i += 1) {
                rows.add([1.5, 0.02, 1, 90, 0.66, 1.78][(i * i) % 6]);
                if (!JSON.stringify(rows.boxes).startsWith(known)) faults.push(`${width}: ${i} moves`);
                known = JSON.stringify(rows.boxes).slice(0, -1);
              }
              rows.finish();
              if (rows.boxes.length !== 500) faults.push(`${width}: ${rows.boxes.length} boxes`);
              rows.boxes.slice(0, -20).forEach((box, i) => {
                const next = rows.boxes[i + 1];
                const isLast = next.top > box.top;
                const end = box.left + box.width;
                if (Math.abs(isLast ? width - end : next.left - end - 8) > 1) {
                  faults.push(`${width}: ${i} ends at ${end}`);
                }
                if (box.height < 60 || box.height > 400) {
                  faults.push(`${width}: ${i} is ${box.height} high`);
                }
              });
            }
            return faults;
          })
          """)
      #expect(faults == [])
    }
  }
}

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
      return try await Visit(CannedGateway(job: job, jobPictures: [picture, failure]), view: view)
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
      #expect(try await visit.value(of: Self.shown) == [String]())
      let texts: [String] = try await visit.value(
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

    @Test func `control characters of an open picture are escaped; directions stay`() async throws {
      for picture in ["1-0", "1-1"] {
        let visit = try await Self.visit("job=1&picture=\(picture)")
        try await visit.wait(for: "#viewer-facts a")
        #expect(try await visit.value(of: Self.shown) == [String]())
        let link = try await visit.text(of: "#viewer-facts a")
        #expect(link == "https://example.org/a\(Self.escapes)%E2%80%AEgpj.exe")
        let bidi: [String] = try await visit.value(
          of: """
            ["#heading", "#job-title", "#collection option", "#viewer-title", "#viewer-facts a",
             ".name"].map((selector) =>
              getComputedStyle(document.querySelector(selector)).unicodeBidi)
            """)
        #expect(Set(bidi) == ["isolate"])
      }
    }
  }
}
