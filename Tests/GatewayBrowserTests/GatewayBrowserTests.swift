import Testing

/// The gallery in a real browser, one test after the other: each starts a browser.
@Suite(
  .serialized, .timeLimit(.minutes(5)),
  .enabled(if: Browser.isInstalled, "Chromium is not installed"))
struct GatewayBrowserTests {}
