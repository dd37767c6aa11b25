import ImgCore
import ImgModel
import ImgSystem
import ImgTransport

/// What workers and the libraries in them write to standard error, and how workers end.
extension Coordinator {
  func workerOutputIsReady(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    let (lines, isOpen) = worker.readOutput(at: .now)
    lines.forEach(log.write)
    // Its exit is reported by the process itself; until then there is nothing to read.
    if !isOpen { poller.unregister(worker.outputDescriptor) }
  }

  /// When the coordinator logs the first message of a library.
  var messageDeadline: ContinuousClock.Instant? {
    workers.values.compactMap(\.output.messageDeadline).min()
  }

  /// Logs the messages whose workers have not died meanwhile.
  func logMessages(at now: ContinuousClock.Instant) {
    for worker in workers.values {
      guard let deadline = worker.output.messageDeadline, deadline <= now,
        let message = worker.output.takeMessage(), let skipped = messageAllowance.take(at: now)
      else { continue }
      let before = skipped == 0 ? "" : " (\(skipped) messages before it are not shown)"
      log.note("worker \(worker.slot) (process \(worker.processID)) says\(before): \(message)")
    }
  }

  /// One line for each death, with the picture that was being decoded and the last that the worker's
  /// libraries have said.
  func logEnd(of worker: WorkerProcess, _ end: WorkerEnd, decoding lease: LeaseID?) {
    worker.endOutput(at: .now).forEach(log.write)
    let message = worker.output.takeMessage()
    guard let how = end.sentence else { return }
    var line = "worker \(worker.slot) (process \(worker.processID)) \(how)"
    if let lease {
      let host = scheduler.host(of: lease).map { " of \($0)" } ?? ""
      line += " while it decoded a picture\(host) (lease \(lease.rawValue))"
    }
    if let message { line += ": \(message)" }
    log.note(line)
  }
}

extension WorkerEnd {
  /// The predicate of a sentence whose subject is the worker; `nil` for the end of one that was let go.
  fileprivate var sentence: String? {
    switch self {
    case .left: nil
    case .crashed(let how), .killed(let how): how
    case .crashedInStore(let how): "\(how) in the store"
    case .ranOutOfMemory(let how): "ran out of memory and \(how)"
    }
  }
}
