import ImgModel

/// The attempts to decode one picture.
///
/// A decoder that dies over a picture may have died of something else, so the picture is tried once
/// more. SIGKILL from outside is hardly ever a picture's fault, so it is tried more often after that,
/// but not for longer than two decodes may take: then the coordinator would take the worker for hung.
struct DecodeAttempts {
  private static let deathMaximum = 2
  private static let killMaximum = 5

  private var deathCount = 0
  private var killCount = 0

  /// Counts an attempt that ended with its decoder.
  ///
  /// - Parameter time: since the first attempt began.
  /// - Returns: what the picture fails with; `nil` if it is tried again.
  mutating func failure(
    after end: DecoderEnd, time: Duration, within limits: Limits
  ) -> Failure? {
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
