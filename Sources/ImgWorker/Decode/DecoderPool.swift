import Glibc
import ImgFacts
import ImgModel
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// The decoders of a worker: one in use and, once that is ready, a spare that takes over when the
/// first dies. Belongs to the decode thread.
final class DecoderPool {
  /// How long a decoder may take to exit after its channel closed, and after it was told to end. The
  /// coordinator has the news.
  private static let exitTime = Duration.seconds(1)
  private static let killTime = Duration.seconds(5)
  /// How often processor time is compared, which takes system calls for each decoder.
  private static let busyCheckInterval = Duration.seconds(1)

  private let limits: Limits
  private let requiresSandbox: Bool
  private let commands: Mailbox<DecoderCommand>
  private let exits: BlockingQueue<DecoderExit>
  /// The first is in use.
  private var decoders: [DecoderProcess] = []
  /// The spare, while it makes a preview.
  private var reserved: DecoderProcess?
  private var lastID: UInt64 = 0
  private var backoff = StartBackoff()
  private var nextStart = ContinuousClock.now
  private var nextBusyCheck = ContinuousClock.now
  private var isReported = false
  private var hasFailed = false

  /// - Parameters:
  ///   - commands: gets what the coordinator is to do.
  ///   - exits: what the coordinator tells of decoders.
  init(
    limits: Limits, requiresSandbox: Bool, commands: Mailbox<DecoderCommand>,
    exits: BlockingQueue<DecoderExit>
  ) {
    self.limits = limits
    self.requiresSandbox = requiresSandbox
    self.commands = commands
    self.exits = exits
  }

  /// A decoder that waits for a picture.
  ///
  /// - Returns: `nil` if none can be started. The loop has been told.
  func takeReady() -> DecoderProcess? {
    while !hasFailed {
      replaceLost()
      guard let first = decoders.first else {
        ThisProcess.pause(for: nextStart - .now)
        continue
      }
      if first.isReady { return first }
      waitUntilReady(first, until: nil)
    }
    return nil
  }

  /// Whether a decoder would be ready at once for the next picture, if one ended with the present one.
  func hasReadySpare() -> Bool {
    replaceLost()
    return decoders.count > 1 && decoders.allSatisfy(\.isReady)
  }

  /// Replaces decoders that have exited without a picture, and waits until the first is ready.
  ///
  /// - Returns: `false` if none can be started. The loop has been told.
  func refill() -> Bool {
    guard takeReady() != nil else { return false }
    replaceLost()
    return true
  }

  /// Gives up a decoder, so that the spare takes over, and has another spare started.
  ///
  /// - Returns: how it ended.
  func end(_ decoder: DecoderProcess, after fault: DecoderFault) -> DecoderEnd {
    decoders.removeAll { $0 === decoder }
    let exit = waitForExit(of: decoder.id, after: fault)
    let end = DecoderEnd(fault, exit, wasRefusedMemory: decoder.wasRefusedMemory)
    if !decoder.isReady { startFailed(fault, end) }
    startMissing()
    return end
  }

  // MARK: - The spare

  /// Reserves the spare for the caller, who ends that by ``release(_:)`` or ``dropReserved()``. It takes
  /// over from no other decoder meanwhile, and has no replacement.
  ///
  /// - Returns: `nil` if none is ready.
  func reserveSpare() -> DecoderProcess? {
    guard reserved == nil else { return nil }
    if decoders.count > 1, !decoders[1].isReady { waitUntilReady(decoders[1], until: .now) }
    guard decoders.count > 1, decoders[1].isReady else { return nil }
    reserved = decoders.remove(at: 1)
    return reserved
  }

  /// Ends a reservation. The decoder is in use from now on if the other one has ended.
  func release(_ decoder: DecoderProcess) {
    precondition(reserved === decoder, "the decoder is reserved")
    reserved = nil
    decoders.insert(decoder, at: decoders.first?.isReady == true ? 1 : 0)
  }

  /// Gives up the reserved decoder, and has another spare started. How it ended does not matter.
  func dropReserved() {
    guard let decoder = reserved else { return }
    reserved = nil
    commands.post(.end(decoder.id))
    startMissing()
  }

  /// Keeps two decoders: replaces those that have exited, those that work without a picture, and one
  /// that has had its pictures.
  private func replaceLost() {
    removeExited()
    endBusyWithoutPicture()
    if let spare = decoders.dropFirst().first, !spare.isReady {
      waitUntilReady(spare, until: .now)
    }
    if decoders.count > 1, decoders[1].isReady, decoders[0].isSpent {
      commands.post(.end(decoders.removeFirst().id))
    }
    startMissing()
  }

  /// Ends decoders that use the processor although none of these has a picture.
  private func endBusyWithoutPicture() {
    guard nextBusyCheck <= .now else { return }
    nextBusyCheck = .now + Self.busyCheckInterval
    for decoder in decoders {
      guard let time = decoder.idleTimeInExcess else { continue }
      WorkerLog.note(
        "a decoder is ended: it has used \(time) of processor time since its last picture")
      commands.post(.end(decoder.id))
      decoders.removeAll { $0 === decoder }
    }
  }

  // MARK: - Starts

  private func startMissing() {
    // Two at once would only delay each other.
    let count = decoders.first?.isReady == true && reserved == nil ? 2 : 1
    while !hasFailed, decoders.count < count, nextStart <= .now {
      lastID += 1
      do {
        decoders.append(
          try DecoderProcess(
            DecoderID(rawValue: lastID), limits: limits, requiresSandbox: requiresSandbox,
            commands: commands))
      } catch {
        startFailed("\(error)", wasKilled: false)
      }
    }
  }

  private func waitUntilReady(_ decoder: DecoderProcess, until deadline: ContinuousClock.Instant?) {
    do throws(DecoderFault) {
      guard let sandbox = try decoder.waitUntilReady(until: deadline) else { return }
      report(sandbox)
    } catch {
      _ = end(decoder, after: error)
    }
  }

  private func report(_ sandbox: SandboxReport) {
    backoff.succeeded()
    if !isReported { commands.post(.ready(sandbox)) }
    isReported = true
  }

  private func startFailed(_ fault: DecoderFault, _ end: DecoderEnd) {
    switch (fault, end) {
    // It would say the same again.
    case (.refused(let refusal), _) where refusal.isLasting: fail(refusal.reason)
    case (_, .crashed(let reason)), (_, .timedOut(let reason)):
      startFailed("a decoder \(reason)", wasKilled: false)
    case (_, .outOfMemory): startFailed("a decoder ran out of memory", wasKilled: false)
    case (_, .killed): startFailed("SIGKILL ended each decoder at its start", wasKilled: true)
    }
  }

  private func startFailed(_ reason: String, wasKilled: Bool) {
    nextStart = .now + backoff.failed(wasKilled: wasKilled)
    if backoff.isExhausted { fail(reason) }
  }

  private func fail(_ reason: String) {
    guard !hasFailed else { return }
    hasFailed = true
    commands.post(.failed(reason))
  }

  // MARK: - Exits

  private func removeExited() {
    for exit in exits.take(upTo: exits.capacity, until: .now) ?? [] { remove(exit) }
  }

  private func remove(_ exit: DecoderExit) {
    guard let index = decoders.firstIndex(where: { $0.id == exit.decoder }) else { return }
    let decoder = decoders.remove(at: index)
    guard !decoder.isReady else { return }
    // It may have said that it is ready, and nobody has listened.
    if let sandbox = try? decoder.waitUntilReady(until: .now) { return report(sandbox) }
    startFailed(.closed, DecoderEnd(.closed, exit.end, wasRefusedMemory: false))
  }

  private func waitForExit(of id: DecoderID, after fault: DecoderFault) -> DecoderExit.End? {
    // One that has closed its channel is about to exit by itself.
    if case .closed = fault, let end = waitForExit(of: id, until: .now + Self.exitTime) {
      return end
    }
    commands.post(.end(id))
    let end = waitForExit(of: id, until: .now + Self.killTime)
    // One that closed its channel and did not exit ended by the signal that was just asked for, which
    // says nothing about it.
    return end == .signalled(SIGKILL) ? nil : end
  }

  private func waitForExit(
    of id: DecoderID, until deadline: ContinuousClock.Instant
  ) -> DecoderExit.End? {
    while let exit = exits.take(upTo: 1, until: deadline)?.first {
      if exit.decoder == id { return exit.end }
      remove(exit)
    }
    return nil
  }
}

/// A worker without decoders is of no use.
struct DecodersFailed: Error, CustomStringConvertible {
  let reason: String

  var description: String { "no decoder can be started: \(reason)" }
}

/// Starts of decoders that failed in a row: when to try again, and when to give up.
struct StartBackoff {
  /// Failures by themselves, and by SIGKILL, which says nothing of the next start.
  private static let failureMaximum = 5
  private static let killMaximum = 100
  private static let firstDelay = Duration.milliseconds(250)

  private var failureCount = 0
  private var killCount = 0

  /// Whether another start would be in vain.
  var isExhausted: Bool {
    failureCount >= Self.failureMaximum || killCount >= Self.killMaximum
  }

  mutating func succeeded() {
    self = StartBackoff()
  }

  /// - Returns: how long to wait before the next start.
  mutating func failed(wasKilled: Bool) -> Duration {
    guard !wasKilled else {
      killCount += 1
      return .zero
    }
    failureCount += 1
    return Self.firstDelay * (1 << (failureCount - 1))
  }
}

/// The part of a picture that has arrived, on its way to a decoder.
struct PreviewJob: Sendable {
  let order: PreviewOrder
  let part: ArrivedPart
}

/// Has previews made by the spare decoder, one at a time, while the other one decodes pictures. Belongs to
/// the decode thread, which asks it for the end from time to time.
final class PreviewDecoder {
  private struct Running {
    let order: PreviewOrder
    let decoder: DecoderProcess
    /// Bytes in the decoder's memory.
    let byteCount: Int
    let shownByteCount: Int
  }

  private let decoders: DecoderPool
  private var running: Running?

  init(decoders: DecoderPool) {
    self.decoders = decoders
  }

  var isBusy: Bool { running != nil }

  /// Starts to make a preview.
  ///
  /// - Returns: the end, if nothing was started; else it comes from ``takeEnd()``.
  func start(_ job: PreviewJob) -> Input? {
    guard running == nil, let decoder = decoders.reserveSpare() else {
      return Input(.previewed(job.order, .busy))
    }
    do throws(DecoderFault) {
      guard let byteCount = try decoder.take(job.part) else {
        return ended(job.order, .later, releasing: decoder)
      }
      switch decoder.prospect(byteCount: byteCount, for: job.order) {
      case .now(let shownByteCount):
        try decoder.startPreview(byteCount: shownByteCount, as: job.order.variant)
        running = Running(
          order: job.order, decoder: decoder, byteCount: byteCount, shownByteCount: shownByteCount)
        return nil
      case .later:
        decoder.drop(byteCount: byteCount)
        return ended(job.order, .later, releasing: decoder)
      case .none:
        decoder.drop(byteCount: byteCount)
        return ended(job.order, .never, releasing: decoder)
      }
    } catch {
      decoders.dropReserved()
      return Input(.previewed(job.order, .later))
    }
  }

  /// - Returns: `nil` while no preview is being made, or the decoder has not answered.
  func takeEnd() -> Input? {
    guard let running else { return nil }
    let (order, decoder) = (running.order, running.decoder)
    do throws(DecoderFault) {
      guard
        let answer = try decoder.previewAnswer(byteCount: running.byteCount, as: order.variant)
      else { return nil }
      self.running = nil
      switch answer {
      case .success(let made):
        decoders.release(decoder)
        return Input(
          .previewed(order, .made(made.thumbnails[0], shownByteCount: running.shownByteCount)),
          with: .thumbnails(made.bytes, upload: nil))
      case .failure(let failure):
        // More bytes may make it whole enough. They change no other reason.
        return ended(
          order, failure.code == .corruptImage ? .later : .never, releasing: decoder)
      }
    } catch {
      self.running = nil
      decoders.dropReserved()
      return Input(.previewed(order, .never))
    }
  }

  private func ended(
    _ order: PreviewOrder, _ end: PreviewEnd, releasing decoder: DecoderProcess
  ) -> Input {
    decoders.release(decoder)
    return Input(.previewed(order, end))
  }
}
