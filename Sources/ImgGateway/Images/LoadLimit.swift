import ImgModel
import Synchronization

/// How many loads may be under way at the same time. Further requests are refused, not queued: their clients
/// are told to come back.
///
/// The loads of one host may be at most three times as many as those that are free. So a host that does not
/// answer takes three quarters at most, a second one three quarters of the rest, and others go on (dynamic
/// thresholds, Choudhury and Hahne, IEEE/ACM Transactions on Networking 6.2, 1998).
final class LoadLimit: Sendable {
  private struct State {
    var count = 0
    var counts: [String: Int] = [:]
  }

  let maximum: Int
  private let state = Mutex(State())

  private static let loadsPerFreeOne = 3

  init(_ maximum: Int) {
    self.maximum = maximum
  }

  /// The loads that are under way.
  var count: Int { state.withLock(\.count) }

  /// Loads a picture, unless too many loads are under way, or too many of its host.
  ///
  /// - Parameter url: may be no URL, which needs no host to fail.
  /// - Returns: `nil` without a load.
  func load<Value, Failure: Error>(
    of url: String, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value? {
    try await load(from: (try? ImageURL(line: url))?.host ?? "", body)
  }

  /// Loads from a host, unless too many loads are under way.
  ///
  /// - Returns: `nil` without a load.
  func load<Value, Failure: Error>(
    from host: String, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value? {
    guard begin(host) else { return nil }
    defer { end(host) }
    return try await body()
  }

  private func begin(_ host: String) -> Bool {
    state.withLock { state in
      let free = maximum - state.count
      let ofHost = state.counts[host, default: 0]
      guard free > 0, ofHost < Self.loadsPerFreeOne * free else { return false }
      state.count += 1
      state.counts[host] = ofHost + 1
      return true
    }
  }

  private func end(_ host: String) {
    state.withLock { state in
      state.count -= 1
      let ofHost = state.counts[host, default: 0] - 1
      state.counts[host] = ofHost > 0 ? ofHost : nil
    }
  }
}
