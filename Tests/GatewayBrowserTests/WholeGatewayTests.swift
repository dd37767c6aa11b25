import ImgClient
import ImgGateway
import ImgHTTP
import ImgSettings
import Testing

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
        bytes: ImagePlaceholder.text(text).svg(width: 120, height: 90), type: .svg, width: 120,
        height: 90,
        source: LoadedImage.Source(type: .png, width: 1200, height: 900, byteCount: 9_000),
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
      try await browser.wait(until: "document.querySelectorAll('.thumbnail img').length === 11")
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
