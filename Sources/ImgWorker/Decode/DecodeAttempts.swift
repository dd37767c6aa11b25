import ImgModel

/// The attempts to decode one picture.
///
/// A decoder that dies over a picture may have died of something else, so the picture is tried once
/// more, after the others that wait (see ``RepeatedDecodes``). SIGKILL from outside is hardly ever a picture's
/// fault, so it is tried more often after that, and at once. The attempts together take no longer than two
/// decodes may: then the coordinator would take the worker for hung.
struct DecodeAttempts: Sendable {
  private static let deathMaximum = 2
  private static let killMaximum = 5

  private var deathCount = 0
  private var killCount = 0
  private var time = Duration.zero

  /// Counts an attempt that ended with its decoder.
  ///
  /// - Parameter attemptTime: how long it took.
  /// - Returns: what the picture fails with; `nil` if it is tried again.
  mutating func failure(
    after end: DecoderEnd, time attemptTime: Duration, within limits: Limits
  ) -> Failure? {
    time += attemptTime
    if end == .killed { killCount += 1 } else { deathCount += 1 }
    let isLate = deathCount + killCount > 1 && time >= limits.decodeTimeout
    guard isLate || deathCount >= Self.deathMaximum || killCount >= Self.killMaximum else {
      return nil
    }
    return switch end {
    case .crashed(let how):
      Failure(stage: .decode, code: .decodeCrash, detail: "the decoder \(how)")
    case .timedOut(let what): Failure(stage: .decode, code: .decodeTimeout, detail: what)
    case .outOfMemory: .outOfMemory(decoderMemory: limits.decoderMemoryByteCount)
    case .killed:
      Failure(
        stage: .decode, code: .outOfMemory,
        detail: "SIGKILL ended \(killCount) decoders with this picture; "
          + "the machine may have no memory left")
    }
  }
}
