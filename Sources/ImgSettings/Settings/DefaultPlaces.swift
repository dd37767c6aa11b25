/// The default paths of the socket and the data.
///
/// Relative paths in XDG variables are ignored, as the XDG Base Directory Specification requires.
struct DefaultPlaces {
  let socketPath: String
  /// `nil` if the environment has no home directory.
  let dataDirectory: String?

  init(environment: [String: String], userID: UInt32) {
    func absolutePath(_ variable: String) -> String? { Self.absolutePath(environment[variable]) }
    let runtimeDirectory =
      absolutePath("XDG_RUNTIME_DIR").map { "\($0)/imgctl" } ?? "/tmp/imgctl-\(userID)"
    socketPath = "\(runtimeDirectory)/control.sock"
    let cacheDirectory =
      absolutePath("XDG_CACHE_HOME") ?? absolutePath("HOME").map { "\($0)/.cache" }
    dataDirectory = cacheDirectory.map { "\($0)/imgctl" }
  }

  static func absolutePath(_ path: String?) -> String? {
    path.flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
