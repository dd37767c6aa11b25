import ImgHTTP

/// A browser that shows the gallery of a gateway. Both end with this object.
final class Visit {
  let gateway: CannedGateway
  let browser: Browser
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
    browser = try await Browser(width: width, media: media)
    try await browser.open(view.isEmpty ? address : "\(address)#\(view)")
    try await browser.wait(until: "document.querySelector('main')?.ariaBusy === 'false'")
  }

  /// That of the page.
  var address: String { "\(server.address)/" }

  /// Waits until pictures are there, each with all its pixels.
  func waitForPictures(_ count: Int) async throws {
    try await browser.wait(
      until: "document.querySelectorAll('.thumbnail img').length >= \(count)")
  }

  /// Scrolls to the end of what is there, page after page, until a picture has a cell.
  ///
  /// - Parameter index: its place in the list, from 0.
  func scrollDown(toPicture index: Int) async throws {
    try await browser.run(
      """
      while (!document.querySelector('.cell[aria-posinset="\(index + 1)"]')) {
        scrollTo(0, scrollY + innerHeight);
        await new Promise(requestAnimationFrame);
      }
      """)
  }

  /// The requests of other hosts than that of the gateway.
  func foreignURLs() throws -> [String] {
    try browser.requestedURLs().filter { !$0.hasPrefix(address) && !$0.hasPrefix("about:") }
  }
}
