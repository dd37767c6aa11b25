package import ImgModel
import ImgSettings

/// The summary of an ended job, with the commands to type next.
package struct JobSummary: Sendable {
  private let status: ImageJob
  private let details: FailureDetails
  private let terms: RemedyTerms
  private let limitNote: String?
  private let results: ResultsInStore
  private let diskNote: String?

  /// - Parameters:
  ///   - details: of its failures, as far as they are known.
  ///   - terms: of its coordinator.
  ///   - limitNote: see ``TransferLimitWatch/note``.
  ///   - results: what the store has of it, as far as that is known.
  ///   - diskNote: that the store is smaller than its budget; `nil` if it is not.
  package init(
    _ status: ImageJob, details: FailureDetails = FailureDetails(), terms: RemedyTerms = .standard,
    limitNote: String? = nil, results: ResultsInStore = ResultsInStore(), diskNote: String? = nil
  ) {
    self.status = status
    self.details = details
    self.terms = terms
    self.limitNote = limitNote
    self.results = results
    self.diskNote = diskNote
  }

  /// One line or more, each with a line feed.
  package var text: String {
    var lines = ["job \(status.job) \(status.state.rawValue): \(facts.joined(separator: ", "))"]
    let report = FailureReport(status, details, terms)
    lines += report.counts
    lines += results.notes(on: status)
    if let diskNote { lines.append(diskNote) }
    lines += report.remedies()
    if let limitNote { lines.append(limitNote) }
    return lines.map { $0 + "\n" }.joined()
  }

  private var facts: [String] {
    var facts = ["\(status.done) of \(status.total) done"]
    if status.damaged > 0 { facts.append("\(status.damaged) of them damaged") }
    facts.append("\(status.failed) failed")
    if status.cancelled > 0 { facts.append("\(status.cancelled) cancelled") }
    facts.append("\(status.fromCache) from cache")
    // The bytes are those of the whole job, the time that of its last run.
    let isRetried = status.retryCount != nil
    facts.append("\(HumanText.size(status.fetchedByteCount)) fetched\(isRetried ? " in all" : "")")
    if let started = status.startTime, let finished = status.endTime {
      let duration = HumanText.duration(started.duration(to: finished))
      facts.append(isRetried ? "the last retry in \(duration)" : "in \(duration)")
    }
    return facts
  }
}

/// What a remedy depends on beside the failures: the coordinator.
package struct RemedyTerms: Sendable {
  /// A coordinator that commands start.
  package static let standard = RemedyTerms(isOfService: false, permittedNetworks: [])

  /// Whether it is a service, see ``ServiceAdvice``.
  let isOfService: Bool
  /// The networks that it permits now.
  let permittedNetworks: [NetworkRange]

  package init(isOfService: Bool, permittedNetworks: [NetworkRange]) {
    self.isOfService = isOfService
    self.permittedNetworks = permittedNetworks
  }

  fileprivate func permits(_ address: NetworkRange) -> Bool {
    permittedNetworks.contains {
      $0.bytes.count == address.bytes.count && $0.prefixLength <= address.prefixLength
        && $0.contains(address.bytes)
    }
  }

  /// How the coordinator gets a setting.
  ///
  /// - Parameters:
  ///   - values: of its option; placeholders if nothing better is known.
  ///   - isReplaced: whether its kept values are replaced.
  fileprivate func restart(
    _ purpose: String, _ flag: String, _ values: [String], isReplaced: Bool = false, job: JobID
  ) -> String {
    let option = OptionDescription(flag, help: "")
    guard !isOfService else {
      return "to \(purpose): set \(option.environmentVariable)=\(values.joined(separator: ",")) in "
        + "\(ServiceAdvice.file)\(isReplaced ? ", beside what it has there" : ""); "
        + "\(ServiceAdvice.restart); imgctl retry \(job) --all"
    }
    let options = values.map { "\(flag) \($0)" }.joined(separator: " ")
    return "to \(purpose): imgctl stop && imgctl start \(options) && imgctl retry \(job) --all"
      + (isReplaced
        ? "; imgctl start replaces the kept ones, so give those that imgctl config show lists, too"
        : "")
  }
}

/// The failures of a job by their codes, and the commands that may cure them.
package struct FailureReport: Sendable {
  private let status: ImageJob
  private let details: FailureDetails
  private let terms: RemedyTerms

  /// The most frequent groups that are told one by one.
  private static let groupMaximum = 5

  package init(
    _ status: ImageJob, _ details: FailureDetails = FailureDetails(),
    _ terms: RemedyTerms = .standard
  ) {
    self.status = status
    self.details = details
    self.terms = terms
  }

  private var groups: ArraySlice<ImageJobFailures> { status.failures.prefix(Self.groupMaximum) }

  /// A line for each of the most frequent codes: their number, their hosts and the most frequent reason. Where only the
  /// first failure is known, its reason.
  package var counts: [String] {
    let width = groups.map { "\($0.count)".count }.max() ?? 0
    var lines = groups.map { group in
      let count = "\(group.count)"
      let padding = String(repeating: " ", count: width - count.count)
      let kind =
        group.code.rawValue + (group.isRetryable ? ", temporary" : "")
        + (details.hostsText(of: group).map { ", \($0)" } ?? "")
      let reason = details.reasonText(of: group) ?? Self.sample(of: group)
      return "  \(padding)\(count) \(kind): \(reason)"
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

  /// The reason of the first is not that of all.
  private static func sample(of group: ImageJobFailures) -> String {
    (group.count > 1 ? "such as " : "") + firstSentence(of: group.message)
  }

  /// What follows is advice, for which ``remedies(areFailuresListed:)`` have more room.
  fileprivate static func firstSentence(of message: String) -> String {
    HumanText.printable(message.withoutAdvice)
  }

  private static func advice(of message: String) -> String? {
    message.firstRange(of: "; ").map { HumanText.printable(String(message[$0.upperBound...])) }
  }

  /// What can be done about the failures, and about lines that were cancelled: one line for each kind.
  ///
  /// - Parameter areFailuresListed: whether the user sees the list of all failures.
  package func remedies(areFailuresListed: Bool = false) -> [String] {
    let job = status.job
    var lines: [String] = []
    if details.pageCount > 1 {
      lines.append(
        "\(details.pageCount) answers were web pages in place of pictures; if the network or the site wants a "
          + "login: log in, then imgctl retry \(job) --all")
    }
    for group in groups where [.proxyFailure, .storeFull].contains(group.code) {
      lines += Self.advice(of: group.message).map { ["\(group.code.rawValue): \($0)"] } ?? []
    }
    if let lineRemedy { lines.append(lineRemedy) }
    if let seconds = details.neededSeconds {
      lines.append(
        terms.restart(
          "give slow transfers the time that they need", "--transfer-timeout", ["\(seconds)s"],
          job: job))
    }
    for group in groups where !group.isRetryable {
      if let remedy = certificateRemedy(for: group) { lines.append(remedy) }
      let remedy =
        group.code == .blockedAddress
        ? networkRemedy : group.code.remedy(for: status, terms)
      if let remedy, !lines.contains(remedy) {
        lines.append(remedy)
      }
    }
    let cancelled = HumanText.count(status.cancelled, of: "cancelled URL")
    if status.retryable > 0, status.cancelled > 0 {
      lines.append(
        "to repeat \(HumanText.count(status.retryable, of: "temporary failure")) and continue the "
          + "\(cancelled): imgctl retry \(job)")
    } else if retryableCount > 0 {
      let which =
        retryableCount == status.failed
        ? (status.failed == 1 ? "the failure is" : "all failures are")
        : "\(retryableCount) of the failures \(retryableCount == 1 ? "is" : "are")"
      lines.append("\(which) temporary: imgctl retry \(job)")
    }
    if status.failed > 0, !areFailuresListed {
      lines.append("list the failures: imgctl failures \(job)")
    }
    if status.cancelled > 0, status.retryable == 0 {
      lines.append("to continue the \(cancelled): imgctl retry \(job)")
    }
    return lines
  }

  /// What permits the networks that were refused.
  private var networkRemedy: String {
    let networks = details.refusedNetworks { !terms.permits($0) }
    if networks.isEmpty, !details.refusedNetworks({ _ in true }).isEmpty {
      return "the refused addresses are permitted now: imgctl retry \(status.job) --all"
    }
    return terms.restart(
      networks.count > 1 ? "permit these networks" : "permit this network", "--allow-network",
      networks.isEmpty ? ["CIDR"] : networks.map(\.text), isReplaced: true, job: status.job)
  }

  /// What can be done if certificates are refused. A network that wants a login answers with its own for every host.
  private func certificateRemedy(for group: ImageJobFailures) -> String? {
    guard CertificateAdvice.concerns(group.code, group.message) else { return nil }
    let login =
      details.hostCount(of: group) > 1
      ? "foreign certificates; if the network wants a login: log in; else " : ""
    let restart = terms.restart("trust another authority", "--ca-file", ["FILE"], job: status.job)
    return "\(login)\(restart) (\(CertificateAdvice.condition))"
  }

  /// The temporary failures, without those that another remedy repeats: URLs that were not requested because the
  /// certificate of their host had been refused.
  private var retryableCount: Int {
    let refused = groups.contains {
      !$0.isRetryable && CertificateAdvice.concerns($0.code, $0.message)
    }
    guard refused else { return status.retryable }
    let repeated = status.failures.filter { $0.isRetryable && $0.code == .tlsFailure }
    return status.retryable - repeated.reduce(0) { $0 + $1.count }
  }

  /// What can be done if the line of this machine is the reason: it is slow, or no name can be resolved.
  private var lineRemedy: String? {
    if details.isLineSlow {
      return "a slow line? imgctl limits --transfers 4"
    }
    let isUnresolved =
      status.failed == status.total && status.failures.allSatisfy { $0.code == .dnsFailure }
    return isUnresolved && status.failures.contains { details.hostCount(of: $0) > 1 }
      ? "no host has an address: is the resolver or the VPN right?" : nil
  }
}

/// What makes certificates trusted that were refused.
enum CertificateAdvice {
  static let restart = "to trust another authority: imgctl stop && imgctl start --ca-file FILE"
  static let condition = "the file replaces the authorities of the system"

  /// For a picture that was loaded alone; `nil` for other failures.
  static func text(on failure: Failure) -> String? {
    concerns(failure.code, failure.detail) ? "\(restart); \(condition)" : nil
  }

  /// Other failures of TLS are the server's.
  static func concerns(_ code: ImageError.Code, _ message: String) -> Bool {
    code == .tlsFailure && message.contains("certificate")
  }
}

extension Failure {
  /// What has happened. The advice that may follow it in the detail names no data directory, so it is told apart,
  /// once for all failures.
  var sentence: String { detail.withoutAdvice }
}

extension String {
  fileprivate var withoutAdvice: String {
    String(self[..<(firstRange(of: "; ")?.lowerBound ?? endIndex)])
  }
}

/// The hosts and the reasons of a job's failures, by the groups of ``ImageJobFailures``.
package struct FailureDetails: Sendable {
  fileprivate struct Group: Hashable {
    let code: ImageError.Code
    let isRetryable: Bool
  }

  private var hosts: [Group: [String: Int]] = [:]
  private var reasons: [Group: [String: Int]] = [:]
  /// Failures whose answer was a web page in place of a picture.
  private(set) var pageCount = 0
  /// The longest `--transfer-timeout` that one of them would have needed; `nil` if none is known.
  private(set) var neededSeconds: Int?
  private var refusedAddresses: Set<NetworkRange> = []
  /// Transfers that were too slow, by host.
  private var slowTransfers: [String: Int] = [:]

  /// Longer lists of failures are not read for details: the summary comes at once.
  package static let failureMaximum = 100_000
  /// Reasons beyond these are among the others.
  private static let reasonMaximum = 1_000
  /// The most frequent reasons of a group that are told, as far as they fit into a line.
  private static let toldReasonMaximum = 4
  private static let toldReasonLength = 100
  private static let addressMaximum = 1_000
  /// What failures with one reason are told apart by begins so.
  private static let ownParts = [", the last of ", Failure.formerWords]
  /// So many transfers of so many hosts are not slow because of their hosts.
  private static let slowTransferMinimum = 10
  private static let slowHostMinimum = 3

  package init() {}

  /// Counts a line that has failed. Other lines do not count.
  package mutating func add(_ line: LineResult) {
    guard case .failed(let failure, _) = line.outcome else { return }
    let group = Group(code: failure.code, isRetryable: failure.isRetryable)
    if failure.isPage { pageCount += 1 }
    neededSeconds = [neededSeconds, Failure.neededSeconds(in: failure.detail)].compactMap(\.self)
      .max()
    if failure.code == .blockedAddress, refusedAddresses.count < Self.addressMaximum,
      let address = Self.address(toPermitAfter: failure.detail)
    {
      refusedAddresses.insert(address)
    }
    let host = line.host
    let reason = Self.reason(of: failure.detail, host: host)
    if reasons[group]?[reason] != nil || reasons[group]?.count ?? 0 < Self.reasonMaximum {
      reasons[group, default: [:]][reason, default: 0] += 1
    }
    guard let host else { return }
    hosts[group, default: [:]][host, default: 0] += 1
    if Failure.isTooSlow(failure.code, failure.detail) { slowTransfers[host, default: 0] += 1 }
  }

  /// The address that the advice of a failure would permit.
  private static func address(toPermitAfter message: String) -> NetworkRange? {
    guard let option = message.firstRange(of: "--allow-network ") else { return nil }
    let text = message[option.upperBound...].prefix { $0 != "," && $0 != " " }
    return try? NetworkRange(parsing: String(text))
  }

  /// The smallest blocks with the addresses that were refused, one for each first byte.
  ///
  /// - Parameter isMeant: whether an address counts.
  func refusedNetworks(_ isMeant: (NetworkRange) -> Bool) -> [NetworkRange] {
    Dictionary(grouping: refusedAddresses.filter(isMeant)) { [UInt8($0.bytes.count), $0.bytes[0]] }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
      .compactMap { NetworkRange.smallest(with: $0.value) }
  }

  /// - Parameter host: of the URL, which is told beside the reasons.
  private static func reason(of message: String, host: String? = nil) -> String {
    let sentence = FailureReport.firstSentence(of: message)
    let end = ownParts.compactMap { sentence.firstRange(of: $0)?.lowerBound }.min()
    var reason = sentence[..<(end ?? sentence.endIndex)]
    if reason.hasSuffix(Failure.rememberedWords) {
      reason = reason[..<(reason.ranges(of: " at ").last?.lowerBound ?? reason.endIndex)]
    }
    guard let host else { return String(reason) }
    let (prefix, suffix) = ("\(host) \(Failure.notAskedWords): ", ": \(host)")
    if reason.hasPrefix(prefix) { reason = reason.dropFirst(prefix.count) }
    if reason.hasPrefix(Failure.robotsWords) {
      reason = "the robots.txt" + reason.dropFirst(Failure.robotsWords.count).drop { $0 != " " }
    }
    return String(reason.hasSuffix(suffix) ? reason.dropLast(suffix.count) : reason)
  }

  /// Whether transfers of several hosts were too slow, so that it may be because of the line.
  var isLineSlow: Bool {
    slowTransfers.count >= Self.slowHostMinimum
      && slowTransfers.values.reduce(0, +) >= Self.slowTransferMinimum
  }

  /// The most frequent reasons of a group with their counts, such as `the origin answered 500 (3), 503 (1)`;
  /// `nil` if there are too few failures to say more than the first does.
  func reasonText(of failures: ImageJobFailures) -> String? {
    guard let reasons = reasons[Group(failures)], failures.count > 1 else { return nil }
    let sorted = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    guard let most = sorted.first else { return nil }
    guard sorted.count > 1 else { return most.key }
    // The others do not repeat its words. Often only the last one differs.
    let start = most.key.lastIndex(of: " ").map { String(most.key[...$0]) } ?? ""
    var told: [String] = []
    for (reason, count) in sorted.prefix(Self.toldReasonMaximum) {
      let isFirst = told.isEmpty
      let text =
        !isFirst && reason.hasPrefix(start) ? String(reason.dropFirst(start.count)) : reason
      guard isFirst || told.reduce(text.count, { $0 + $1.count }) <= Self.toldReasonLength else {
        break
      }
      told.append(most.value > 1 ? "\(text) (\(count))" : text)
    }
    return told.joined(separator: ", ") + (told.count < sorted.count ? ", and others" : "")
  }

  /// At how many hosts the failures of a group were.
  func hostCount(of failures: ImageJobFailures) -> Int { hosts[Group(failures)]?.count ?? 0 }

  /// Where the failures of a group were, such as `all at example.org`; `nil` if there are too few to say so.
  func hostsText(of failures: ImageJobFailures) -> String? {
    guard let hosts = hosts[Group(failures)], failures.count > 1,
      let most = hosts.max(by: { ($0.value, $1.key) < ($1.value, $0.key) })
    else { return nil }
    let name = HumanText.printable(most.key)
    guard hosts.count > 1 else { return most.value > 1 ? "all at \(name)" : nil }
    let isEven = most.value * hosts.count == hosts.values.reduce(0, +)
    return "at \(hosts.count) hosts" + (isEven ? "" : ", \(most.value) at \(name)")
  }
}

extension LineResult {
  /// The host of its URL; `nil` for what is local, and for what is no URL.
  var host: String? {
    (try? ImageURL(line: url)).flatMap { $0.isLocal ? nil : $0.host }
  }
}

extension FailureDetails.Group {
  fileprivate init(_ failures: ImageJobFailures) {
    self.init(code: failures.code, isRetryable: failures.isRetryable)
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
  package func note(_ place: JournalPlace) -> String {
    guard let first = jobs.first else { return "" }
    let (subject, object) =
      jobs.count == 1 ? ("job \(first) has", "it") : ("\(jobs.count) jobs have", "them")
    return
      "\(subject) \(HumanText.count(waitingCount, of: "waiting URL")); \(place.continuation(of: object))\n"
  }
}

extension ImageError.Code {
  /// How failures that a retry alone does not cure can be cured; `nil` where the list or its origins are at fault.
  fileprivate func remedy(for status: ImageJob, _ terms: RemedyTerms) -> String? {
    func restart(_ purpose: String, _ flag: String, _ value: String) -> String {
      terms.restart(purpose, flag, [value], job: status.job)
    }
    return switch self {
    case .blockedPath:
      terms.restart(
        "permit a directory", "--allow-directory", ["DIR"], isReplaced: true, job: status.job)
        + "; imgctl submit PATH reads a file without that"
    case .tooLarge: restart("fetch larger pictures", "--max-body", "SIZE")
    case .tooManyPixels: restart("decode larger pictures", "--max-pixels", "N")
    case .tooManyFrames: restart("decode longer animations", "--max-frames", "N")
    case .decodeTimeout: restart("let decoders take longer", "--decode-timeout", "DURATION")
    case .outOfMemory: restart("give decoders more memory", "--decoder-memory", "SIZE")
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
}
