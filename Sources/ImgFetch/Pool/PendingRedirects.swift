package import ImgModel

/// A redirect that waits for ``TransferPool/follow(_:excluding:)``.
package struct PendingRedirect {
  /// The transfer's number.
  package let id: UInt64
  /// Where it leads.
  package let url: ImageURL
  /// Whether that is another host.
  package let leavesHost: Bool
}

/// The redirects of a pool: those that wait for a decision, and what the pool's owner has not been
/// told.
struct PendingRedirects {
  private var requests: [UInt64: (url: ParsedURL, request: TransferRequest)] = [:]
  private var unreported: [PendingRedirect] = []
  private var unreportedExtraHosts: [String] = []

  func contains(_ id: UInt64) -> Bool { requests[id] != nil }

  /// A redirect waits for a decision.
  mutating func hold(
    _ id: UInt64, to target: RedirectTarget, _ request: TransferRequest, leavesHost: Bool
  ) {
    precondition(requests[id] == nil, "a transfer has two redirects")
    requests[id] = (target.parsedURL, request)
    unreported.append(PendingRedirect(id: id, url: target.url, leavesHost: leavesHost))
  }

  /// A host gets another request at once, after a redirect of a robots.txt or for a further part of a file.
  mutating func recordExtraRequest(to host: String) {
    unreportedExtraHosts.append(host)
  }

  /// - Returns: the request that follows the redirect; `nil` when none waits.
  mutating func release(_ id: UInt64) -> (url: ParsedURL, request: TransferRequest)? {
    requests.removeValue(forKey: id)
  }

  mutating func cancel(_ id: UInt64) {
    requests[id] = nil
    unreported.removeAll { $0.id == id }
  }

  /// The redirects that wait for a decision since the last call.
  mutating func takeUnreported() -> [PendingRedirect] {
    defer { unreported = [] }
    return unreported
  }

  /// The hosts that got more requests since the last call, once for each request.
  mutating func takeExtraRequests() -> [String] {
    defer { unreportedExtraHosts = [] }
    return unreportedExtraHosts
  }
}
