import ImgCore
import ImgModel
import ImgSystem
import ImgWire

/// Sweeps: the removal of thumbnails that have expired and that nobody asks for any more, at the
/// start, then once a minute, and when a client wants it. One worker does it, in its pauses.
extension Coordinator {
  private static let sweepInterval = Duration.seconds(60)
  /// What has expired more recently is left to look-ups, which remove what they find expired: a
  /// sweep is for what nobody asks for.
  private static let graceMilliseconds: Int64 = 60_000

  /// The worker that sweeps; `nil` while there is none, or none is to begin anything.
  var housekeeper: WorkerID? { phase == .running ? scheduler.housekeeper : nil }

  func sweep(at now: ContinuousClock.Instant) {
    guard let worker = housekeeper else { return }
    let moment = WallTime(rawValue: WallClock.milliseconds())
      .advanced(byMilliseconds: isSweepWanted ? 0 : -Self.graceMilliseconds)
    isSweepWanted = false
    nextSweep = now + Self.sweepInterval
    send(.sweep(Sweep(at: moment)), to: worker)
  }

  /// Without the grace: the client means what has expired by now.
  func sweep(_ request: RequestID, for client: ClientConnection) {
    guard phase == .running else {
      return refuse(request, of: client, .stopping, "the coordinator is stopping")
    }
    isSweepWanted = true
    nextSweep = .now
    send(.sweeping(PlainRequest(id: request)), to: client)
  }
}
