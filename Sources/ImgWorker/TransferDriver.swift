import ImgFacts
import ImgFetch
import ImgModel
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// The transfers of a worker, and what they leave until the machine releases it.
struct TransferDriver {
  let pool: TransferPool
  private var bodies: [TransferID: HeldBody] = [:]
  /// The origins of transfers that fetch a robots.txt.
  private var robotsOrigins: [TransferID: String] = [:]
  private let networkCheck: ServiceThread<NetworkCheck.Job>
  /// What has answered last of all that is asked without a proxy.
  private var peer: PeerAddress?
  /// Transfers of robots.txt have numbers that no lease has.
  private var lastRobotsNumber = UInt64(1) << 63

  /// - Parameter inbox: gets the ends of transfers that nothing answered.
  init(_ pool: TransferPool, inbox: Mailbox<Input>) throws(SystemError) {
    self.pool = pool
    networkCheck = try NetworkCheck.thread(inbox: inbox)
  }

  mutating func fetchRobots(of url: ImageURL, contact: Contact?) {
    lastRobotsNumber += 1
    let id = TransferID(rawValue: lastRobotsNumber)
    robotsOrigins[id] = url.origin
    pool.startRobots(id, of: url, contact: contact)
  }

  // MARK: - What has arrived

  /// How much has arrived of transfers; nothing of one that is not under way.
  func measures(of transfers: [TransferID]) -> [TransferID: TransferMeasure] {
    Dictionary(
      uniqueKeysWithValues: transfers.compactMap { id in
        pool.arrival(of: id).map {
          (
            id,
            TransferMeasure(
              receivedByteCount: $0.byteCount, isHeldUp: $0.isHeldUp, heldTime: $0.heldTime,
              phase: $0.phase)
          )
        }
      })
  }

  /// What has arrived of a picture, for a decoder. Bytes in memory are copied into memory that a decoder
  /// can read.
  ///
  /// - Parameter maximumByteCount: the most that a picture may have.
  /// - Returns: `nil` if nothing has arrived, or there is no memory for it.
  func arrivedPart(of transfer: TransferID, upTo maximumByteCount: Int) -> ArrivedPart? {
    switch pool.arrivedPicture(of: transfer) {
    case .file(let file, let byteCount): return .file(file, byteCount: byteCount)
    case .memory(let bytes):
      guard let memory = try? PictureMemory(maximumByteCount: maximumByteCount),
        bytes.count <= memory.maximumByteCount
      else { return nil }
      memory.put(bytes.span)
      return .memory(memory, byteCount: bytes.count)
    case nil: return nil
    }
  }

  // MARK: - What transfers left

  /// - Precondition: the transfer left a body that is not released.
  subscript(transfer: TransferID) -> HeldBody {
    guard let body = bodies[transfer] else {
      preconditionFailure("transfer \(transfer.rawValue) left no body")
    }
    return body
  }

  mutating func release(_ transfer: TransferID) {
    bodies[transfer] = nil
  }

  /// The end of a transfer. What it left is held from here on.
  ///
  /// - Returns: `nil` if it comes by the inbox, when it is known whether the network is the reason.
  mutating func input(of transfer: FinishedTransfer) -> Input? {
    peer = transfer.peer ?? peer
    if let origin = robotsOrigins.removeValue(forKey: transfer.id) {
      return checked(transfer) { [answer = RobotsAnswer(transfer)] sign in
        Input(.robotsFetched(origin: origin, answer, sign: sign))
      }
    }
    bodies[transfer.id] = HeldBody(leftBy: transfer, of: pool)
    if let notModified = transfer.notModified {
      return Input(
        .transferEnded(transfer.id, TransferEnd(transfer)), with: .notModified(notModified))
    }
    return checked(transfer) { [id = transfer.id, end = TransferEnd(transfer)] sign in
      Input(.transferEnded(id, end.saying(sign)))
    }
  }

  /// The end of a transfer with what it says of the network.
  ///
  /// - Returns: `nil` if that has to be found out first.
  private func checked(
    _ transfer: FinishedTransfer, _ input: @escaping @Sendable (NetworkSign?) -> Input
  ) -> Input? {
    guard transfer.unresolvedHost != nil || transfer.sign == .silent,
      networkCheck.queue.push(
        NetworkCheck.Job(name: transfer.unresolvedHost, peer: peer, input: input))
    else { return input(transfer.sign) }
    return nil
  }
}

/// Finds out on a thread of its own why nothing answered a transfer: because of its host, or because of the network.
///
/// libcurl does not tell a name that does not exist from a resolver that does not answer. So the resolver is asked
/// once more; one that answers has the answer at hand. If it is silent, or if a host is, the host that has answered
/// last is connected to: nothing is sent. A resolver that says nothing to any question shows a network that does not
/// work, also where one host alone is asked.
struct NetworkCheck {
  struct Job: Sendable {
    /// That could not be resolved; `nil` if the host itself did not answer.
    let name: String?
    /// What has answered last; `nil` if nothing has.
    let peer: PeerAddress?
    /// The end of the transfer with what it says of the network.
    let input: @Sendable (NetworkSign?) -> Input
  }

  /// A resolver that takes longer does not answer.
  private static let longestLookup = Duration.seconds(2)
  private static let longestConnect = Duration.seconds(3)

  /// What was found out of something, which holds for other transfers for a while. A silence holds for longer than it
  /// takes to find out another one, so that the ends of many transfers do not wait for each other.
  private struct Finding<Value> {
    let value: Value
    let until: ContinuousClock.Instant

    init(_ value: Value, isSilence: Bool) {
      self.value = value
      until = .now + .seconds(isSilence ? 15 : 2)
    }

    var holds: Bool { ContinuousClock.now < until }
  }

  private var resolver: Finding<ResolverReply>?
  private var name: Finding<Bool>?
  private var lastPeer: Finding<Bool>?

  /// - Parameter inbox: gets the ends of transfers.
  static func thread(inbox: Mailbox<Input>) throws(SystemError) -> ServiceThread<Job> {
    try ServiceThread(name: "network", capacity: Worker.credits.leases) { queue in
      var check = NetworkCheck()
      while let jobs = queue.take(upTo: 1) {
        for job in jobs { inbox.post(job.input(check.sign(of: job))) }
      }
    }
  }

  /// What the end of a transfer says of the network by what was found out. Each finding is looked for only if it is
  /// needed.
  ///
  /// - Parameters:
  ///   - isUnresolved: whether the name of the host could not be resolved, or else the host did not answer.
  ///   - reply: of the resolver to a question that each can answer.
  ///   - isNameAnswered: whether the resolver answers a question for the name.
  ///   - doesPeerAnswer: whether the host that has answered last still does; `nil` if none has.
  /// - Returns: `nil` if nothing shows why: no other host has answered yet, so that a silent one tells of itself alone.
  static func sign(
    isUnresolved: Bool, reply: () -> ResolverReply, isNameAnswered: () -> Bool,
    doesPeerAnswer: () -> Bool?, hasRoute: () -> Bool
  ) -> NetworkSign? {
    if isUnresolved {
      if reply() == .silence { return .unrouted }
      if isNameAnswered() { return .answered }
    }
    switch doesPeerAnswer() {
    case true?: return .answered
    case false? where !isUnresolved && reply() == .silence: return .unrouted
    case nil where !isUnresolved: return nil
    case false?, nil: return hasRoute() ? .silent : .unrouted
    }
  }

  private mutating func sign(of job: Job) -> NetworkSign? {
    Self.sign(
      isUnresolved: job.name != nil, reply: { resolverReply() },
      isNameAnswered: { job.name.map { resolverAnswers($0) } ?? false },
      doesPeerAnswer: { job.peer.map { answers($0) } }, hasRoute: { Network.hasRoute })
  }

  private mutating func resolverReply() -> ResolverReply {
    if let resolver, resolver.holds { return resolver.value }
    let reply = Network.resolverReply
    resolver = Finding(reply, isSilence: reply == .silence)
    return reply
  }

  private mutating func resolverAnswers(_ name: String) -> Bool {
    if let finding = self.name, finding.holds { return finding.value }
    let start = ContinuousClock.now
    let answers = Network.resolverAnswers(name)
    // One that says at once that it cannot answer is asked again.
    if answers || start.duration(to: .now) > Self.longestLookup {
      self.name = Finding(answers, isSilence: !answers)
    }
    return answers
  }

  private mutating func answers(_ peer: PeerAddress) -> Bool {
    if let lastPeer, lastPeer.holds { return lastPeer.value }
    let answers = Network.answers(peer, within: Self.longestConnect)
    lastPeer = Finding(answers, isSilence: !answers)
    return answers
  }
}

extension TransferEnd {
  init(_ transfer: FinishedTransfer) {
    let leftover: Leftover =
      switch transfer.leftover {
      case .unchanged: .unchanged
      case .obsolete: .obsolete
      case .partial: .partial
      }
    self.init(
      Result(transfer), freshByteCount: transfer.freshByteCount,
      wasRedirected: transfer.wasRedirected, timings: transfer.timings, leftover: leftover)
  }

  /// The same with what it says of the network.
  fileprivate func saying(_ sign: NetworkSign?) -> TransferEnd {
    var end = self
    end.sign = sign
    return end
  }
}

extension TransferEnd.Result {
  fileprivate init(_ transfer: FinishedTransfer) {
    if transfer.isDeferred {
      self = .deferred
    } else if transfer.notModified != nil {
      self = .notModified
    } else {
      switch transfer.result {
      case .success(let body):
        self = .body(
          BodyFacts(
            byteCount: body.content.byteCount, declaredByteCount: body.declaredByteCount,
            receivedByteCount: transfer.bytesReceived, reuse: body.reuse, optOut: body.optOut))
      case .failure(let failure): self = .failed(failure)
      }
    }
  }
}

extension RobotsAnswer {
  /// What a file says, and what it means if there is none (RFC 9309 section 2.3.1): an origin that has
  /// none permits everything, one that does not answer as it should permits nothing for now.
  init(_ transfer: FinishedTransfer) {
    switch transfer.result {
    case .success(let body):
      // So short a body is in memory.
      self = .rules(RobotsRules(parsing: (try? body.content.bytes()) ?? []))
    case .failure(let failure) where failure.meansNoRobots: self = .rules(RobotsRules.none)
    case .failure(let failure): self = .unavailable(failure, isDeferred: transfer.isDeferred)
    }
  }
}

extension Failure {
  /// Whether the origin has no such file, rather than one that is not available now.
  fileprivate var meansNoRobots: Bool {
    code == .tooManyRedirects
      || (code == .httpStatus && !isRetryable && (200..<500).contains(httpStatus ?? 0))
  }
}

/// What a transfer left: a body, or a part of one. It counts against the budgets of the transfer pool
/// for as long as this lives. Bound to the pool's thread.
final class HeldBody {
  private(set) var content: BodyContent
  /// What is known of a partial body; `nil` of a whole one.
  private let resumeState: ResumeState?
  /// The facts of a picture, whose bytes are not held; `nil` for a body.
  let facts: FactsRecord?
  /// The media type that the origin declares.
  let mediaType: String?
  private let charge: BodyCharge
  private let pool: TransferPool

  /// - Returns: `nil` if the transfer left nothing.
  init?(leftBy transfer: FinishedTransfer, of pool: TransferPool) {
    self.pool = pool
    switch (transfer.result, transfer.leftover) {
    case (.success(let body), _):
      (content, charge, resumeState) = (body.content, body.charge, nil)
      (facts, mediaType) = (body.facts, body.mediaType)
    case (.failure, .partial(let partial, let charge)):
      (content, self.charge, resumeState) = (partial.content, charge, partial.resumeState)
      (facts, mediaType) = (nil, nil)
    case (.failure, .unchanged), (.failure, .obsolete): return nil
    }
  }

  /// - Precondition: it is a part of a body.
  var partial: PartialBody {
    guard let resumeState else { preconditionFailure("the body is whole") }
    return PartialBody(content: content, resumeState: resumeState)
  }

  deinit {
    // Transfers that wait for room take it at once, so the bytes go first.
    content = .memory([])
    pool.releaseBody(charge)
  }
}
