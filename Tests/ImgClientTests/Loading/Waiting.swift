import ImgClient

/// Waits until a condition holds, without keeping a thread of the tasks.
///
/// - Returns: whether it did before a long time was over.
func eventually(_ condition: () throws -> Bool) async throws -> Bool {
  let end = ContinuousClock.now + .seconds(240)
  while ContinuousClock.now < end {
    if try condition() { return true }
    try await Task.sleep(for: .milliseconds(2))
  }
  return false
}

extension ImagePhases {
  /// The phases of one load, up to its end.
  var all: [ImagePhase] {
    get async { await reduce(into: []) { $0.append($1) } }
  }
}
