package import ImgModel

/// The summary of an ended job, with the commands to type next.
package struct JobSummary: Sendable {
  private let status: ImageJob
  private let hosts: FailingHosts
  private let limitNote: String?
  private let lostCount: Int
  private let diskNote: String?

  /// - Parameters:
  ///   - hosts: of its failures, as far as they are known.
  ///   - limitNote: see ``TransferLimitWatch/note``.
  ///   - lostCount: how many of its thumbnails the store no longer has.
  ///   - diskNote: that the store is smaller than its budget; `nil` if it is not.
  package init(
    _ status: ImageJob, hosts: FailingHosts = FailingHosts(), limitNote: String? = nil,
    lostCount: Int = 0, diskNote: String? = nil
  ) {
    self.status = status
    self.hosts = hosts
    self.limitNote = limitNote
    self.lostCount = lostCount
    self.diskNote = diskNote
  }

  /// One line or more, each with a line feed.
  package var text: String {
    var lines = ["job \(status.job) \(status.state.rawValue): \(facts.joined(separator: ", "))"]
    lines += FailureReport(status, hosts).counts
    if lostCount > 0 {
      lines.append(
        "\(lostCount) of \(HumanText.count(status.done, of: "thumbnail")) "
          + "\(lostCount == 1 ? "is" : "are") no longer stored; to fetch them again: "
          + "imgctl export \(status.job) DIR --fetch")
    }
    if let diskNote { lines.append(diskNote) }
    lines += FailureReport(status).remedies
    if let limitNote { lines.append(limitNote) }
    return lines.map { $0 + "\n" }.joined()
  }

  private var facts: [String] {
    var facts = ["\(status.done) of \(status.total) done"]
    if status.damaged > 0 { facts.append("\(status.damaged) of them damaged") }
    facts.append("\(status.failed) failed")
    if status.cancelled > 0 { facts.append("\(status.cancelled) cancelled") }
    facts.append("\(status.fromCache) from cache")
    facts.append("\(HumanText.size(status.fetchedByteCount)) fetched")
    if let started = status.startTime, let finished = status.endTime {
      facts.append("in " + HumanText.duration(started.duration(to: finished)))
    }
    return facts
  }
}

/// The failures of a job by their codes, and the commands that may cure them.
package struct FailureReport: Sendable {
  private let status: ImageJob
  private let hosts: FailingHosts

  /// The most frequent groups that are told one by one.
  private static let groupMaximum = 5

  package init(_ status: ImageJob, _ hosts: FailingHosts = FailingHosts()) {
    self.status = status
    self.hosts = hosts
  }

  private var groups: ArraySlice<ImageJobFailures> { status.failures.prefix(Self.groupMaximum) }

  /// A line for each of the most frequent codes: their number, their hosts and the first sentence of the first one.
  package var counts: [String] {
    let width = groups.map { "\($0.count)".count }.max() ?? 0
    var lines = groups.map { group in
      let count = "\(group.count)"
      let padding = String(repeating: " ", count: width - count.count)
      let kind =
        group.code.rawValue + (group.isRetryable ? ", temporary" : "")
        + (hosts.text(of: group).map { ", \($0)" } ?? "")
      return "  \(padding)\(count) \(kind): \(Self.sample(of: group))"
    }
    let others = status.failures.dropFirst(Self.groupMaximum)
    if !others.isEmpty {
      let count = others.reduce(0) { $0 + $1.count }
      lines.append(
        "  and \(HumanText.count(count, of: "URL")) of \(HumanText.count(others.count, of: "other kind"))"
      )
    }
    return lines
  }

  /// An origin opts out for itself, so the reason of one is not that of all.
  private static func sample(of group: ImageJobFailures) -> String {
    (group.code == .optedOut && group.count > 1 ? "such as " : "")
      + firstSentence(of: group.message)
  }

  /// What follows is advice, for which ``remedies`` have more room.
  private static func firstSentence(of message: String) -> String {
    let end = message.firstRange(of: "; ")?.lowerBound ?? message.endIndex
    return HumanText.printable(String(message[..<end]))
  }

  /// What can be done about the failures, and about lines that were cancelled: one line for each kind.
  package var remedies: [String] {
    let job = status.job
    var lines: [String] = []
    for group in groups where !group.isRetryable {
      if let remedy = group.code.remedy(for: status), !lines.contains(remedy) {
        lines.append(remedy)
      }
    }
    if status.retryable > 0 {
      let which =
        status.failed == 1
        ? "" : (status.retryable == status.failed ? "all" : "\(status.retryable)") + " of them "
      lines.append("\(status.failed) failed, \(which)temporarily: imgctl retry \(job)")
    }
    if status.failed > 0 { lines.append("list the failures: imgctl failures \(job)") }
    if status.cancelled > 0 {
      lines.append(
        "to continue the \(HumanText.count(status.cancelled, of: "cancelled URL")): "
          + "imgctl retry \(job)")
    }
    return lines
  }
}

/// The hosts of a job's failures, by the groups of ``ImageJobFailures``.
package struct FailingHosts: Sendable {
  private struct Group: Hashable {
    let code: ImageError.Code
    let isRetryable: Bool
  }

  private var counts: [Group: [String: Int]] = [:]

  /// The hosts of longer lists of failures are not counted: the summary comes at once.
  package static let failureMaximum = 100_000

  package init() {}

  /// Counts a line that has failed. Other lines, and those without a host, do not count.
  package mutating func add(_ line: LineResult) {
    guard case .failed(let failure, _) = line.outcome, let url = try? ImageURL(line: line.url),
      !url.isLocal
    else { return }
    let group = Group(code: failure.code, isRetryable: failure.isRetryable)
    counts[group, default: [:]][url.host, default: 0] += 1
  }

  /// Where the failures of a group were, such as `all at example.org`; `nil` if there are too few to say so.
  func text(of failures: ImageJobFailures) -> String? {
    let group = Group(code: failures.code, isRetryable: failures.isRetryable)
    guard let hosts = counts[group], failures.count > 1,
      let most = hosts.max(by: { ($0.value, $1.key) < ($1.value, $0.key) })
    else { return nil }
    let name = HumanText.printable(most.key)
    guard hosts.count > 1 else { return most.value > 1 ? "all at \(name)" : nil }
    return "at \(hosts.count) hosts" + (most.value > 1 ? ", \(most.value) at \(name)" : "")
  }
}

/// The jobs that go on when a coordinator is started, because none runs.
package struct WaitingJobs: Sendable {
  private var jobs: [JobID] = []
  private var waitingCount = 0

  package init(_ jobs: [ImageJob] = []) {
    for job in jobs { add(job) }
  }

  /// Jobs that have ended, and paused ones, do not count.
  package mutating func add(_ job: ImageJob) {
    guard !job.hasEnded, job.state != .paused else { return }
    jobs.append(job.job)
    waitingCount += job.total - job.finished
  }

  /// One line with a line feed; empty if there are none.
  package var note: String {
    guard let first = jobs.first else { return "" }
    let (subject, object) =
      jobs.count == 1 ? ("job \(first) has", "it") : ("\(jobs.count) jobs have", "them")
    return "\(subject) \(HumanText.count(waitingCount, of: "waiting URL")); "
      + "imgctl start continues \(object)\n"
  }
}

extension ImageError.Code {
  /// How failures that a retry alone does not cure can be cured; `nil` where the list or its origins are at fault.
  fileprivate func remedy(for status: ImageJob) -> String? {
    let job = status.job
    return switch self {
    case .blockedAddress:
      Self.restart("permit a network", "--allow-network CIDR", job) + Self.replacement
    case .blockedPath:
      Self.restart("permit a directory", "--allow-directory DIR", job) + Self.replacement
        + "; imgctl submit PATH reads a file without that"
    case .tooLarge: Self.restart("fetch larger pictures", "--max-body SIZE", job)
    case .tooManyPixels: Self.restart("decode larger pictures", "--max-pixels N", job)
    case .tooManyFrames: Self.restart("decode longer animations", "--max-frames N", job)
    case .decodeTimeout: Self.restart("let decoders take longer", "--decode-timeout DURATION", job)
    case .outOfMemory: Self.restart("give decoders more memory", "--decoder-memory SIZE", job)
    case .corruptImage where status.request.keep.isOriginalAlone:
      "to store damaged originals as they are: imgctl submit FILE --decode lazy"
    case .corruptImage:
      "to keep what can be decoded of damaged pictures: imgctl submit FILE --lenient"
    case .optedOut:
      "opted_out: their origins do not permit this use; see --respect-opt-out and "
        + "--respect-robots in imgctl help submit"
    default: nil
    }
  }

  /// Of an option whose values are kept.
  private static let replacement =
    "; imgctl start replaces the kept ones, so give those that imgctl config show lists, too"

  private static func restart(_ purpose: String, _ option: String, _ job: JobID) -> String {
    "to \(purpose): imgctl stop; imgctl start \(option); imgctl retry \(job) --all"
  }
}
