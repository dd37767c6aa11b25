import ImgCore
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// Lists being received: part by part from the client into the journal, no faster than the disk
/// takes them, and a job only once the last part is durable.
extension Coordinator {
  private static let nameMaximumByteCount = 200

  func openSubmission(_ submission: Submission, of client: ClientConnection) {
    guard phase == .running else {
      return refuse(submission.id, of: client, .stopping, "the coordinator is stopping")
    }
    guard client.submission == nil else {
      return refuse(
        submission.id, of: client, .invalidRequest, "one list at a time on one connection")
    }
    guard (submission.name?.utf8.count ?? 0) <= Self.nameMaximumByteCount else {
      return refuse(
        submission.id, of: client, .invalidRequest,
        "a job's name has at most \(Self.nameMaximumByteCount) bytes")
    }
    let job = nextJob
    nextJob = JobID(rawValue: job.rawValue + 1)
    client.submission = ClientConnection.OpenSubmission(request: submission.id, job: job)
    submitters[job] = client.number
    let record = JobRecord(
      id: job, name: submission.name, options: submission.options, order: submission.order,
      submittedAt: WallTime(rawValue: WallClock.milliseconds()))
    hand(.createJob(record), of: client)
  }

  func takeLines(_ lines: SubmissionLines, of client: ClientConnection) {
    guard let submission = client.submission, submission.request == lines.id,
      !submission.isComplete
    else {
      // After a refusal the rest of the list may still be on its way.
      return
    }
    guard lines.lines.count <= SubmissionLines.maximumCount else {
      abandonSubmission(of: client)
      return refuse(
        lines.id, of: client, .invalidRequest,
        "more than \(SubmissionLines.maximumCount) lines in one frame")
    }
    guard !lines.lines.isEmpty else { return }
    hand(.appendURLs(submission.job, lines.lines.map(Self.kept)), of: client)
  }

  /// The line as the journal keeps it: one that is longer than any URL only as far as that shows.
  private static func kept(_ line: String) -> String {
    let byteCount = ImageURL.maximumByteCount + 1
    return line.utf8.count <= byteCount
      ? line : String(decoding: line.utf8.prefix(byteCount), as: UTF8.self)
  }

  func completeSubmission(_ request: RequestID, of client: ClientConnection) {
    guard let submission = client.submission, submission.request == request,
      !submission.isComplete
    else { return }
    client.submission?.isComplete = true
    hand(.seal(submission.job), of: client)
  }

  /// The client is gone or was refused: what is written of its list goes.
  func abandonSubmission(of client: ClientConnection) {
    guard let submission = client.submission else { return }
    client.submission = nil
    // A complete list is accepted as soon as it is durable, whether or not its client waits.
    guard !submission.isComplete else { return }
    submitters[submission.job] = nil
    journalWriter.submit(.discard(submission.job))
  }

  // MARK: - The journal's answers

  func submissionPartIsWritten(of job: JobID) {
    guard let client = submitter(of: job) else { return }
    client.submission?.unwrittenCount -= 1
    settle(client)
  }

  func submissionIsAccepted(_ record: JobRecord) {
    let client = submitter(of: record.id)
    submitters[record.id] = nil
    log.note("job \(record.id) accepted: \(record.counts.total) URLs")
    guard let client, let submission = client.submission else { return }
    client.submission = nil
    send(
      .submitted(
        Submitted(id: submission.request, job: record.id, total: record.counts.total)),
      to: client)
  }

  func refuseSubmission(of job: JobID, because reason: String) {
    journalWriter.submit(.discard(job))
    let client = submitter(of: job)
    submitters[job] = nil
    guard let client, let submission = client.submission else { return }
    client.submission = nil
    refuse(
      submission.request, of: client, .journal, "the list cannot be written: \(reason)")
  }

  private func submitter(of job: JobID) -> ClientConnection? {
    submitters[job].flatMap { clients[$0] }.flatMap { $0.submission?.job == job ? $0 : nil }
  }

  private func hand(_ operation: JournalOperation, of client: ClientConnection) {
    client.submission?.unwrittenCount += 1
    journalWriter.submit(operation)
    settle(client)
  }
}
