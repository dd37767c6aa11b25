/// Where socket and data are for a person who names no places.
///
/// A relative path in an XDG variable is ignored, as the XDG Base Directory Specification asks.
struct DefaultPlaces {
  let socketPath: String
  /// `nil` when the environment knows no home.
  let dataDirectory: String?

  init(environment: [String: String], userID: UInt32) {
    func absolutePath(_ variable: String) -> String? {
      environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    let runtimeDirectory =
      absolutePath("XDG_RUNTIME_DIR").map { "\($0)/imgctl" } ?? "/tmp/imgctl-\(userID)"
    socketPath = "\(runtimeDirectory)/control.sock"
    let cacheDirectory =
      absolutePath("XDG_CACHE_HOME") ?? absolutePath("HOME").map { "\($0)/.cache" }
    dataDirectory = cacheDirectory.map { "\($0)/imgctl" }
  }
}
