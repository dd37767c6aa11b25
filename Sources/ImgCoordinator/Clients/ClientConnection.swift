import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// One client: its connection and what it asked for that is not answered.
final class ClientConnection {
  /// What a client owes that takes no time.
  enum Debt: String {
    case greeting = "it did not greet"
    case request = "it did not send the rest of a request"
    case reading = "it did not read why it is closed"
  }

  let id: ClientID
  let channel: Channel<ClientMessage, CoordinatorReply>
  var pending = PendingRequests()
  /// The list that it sends; `nil` when it sends none.
  private(set) var submission: OpenSubmission?
  private(set) var hasGreeted = false
  /// Whether it is closed once everything is sent.
  private(set) var isClosing = false
  /// Whether it has closed its end. The poller no longer watches the socket, which would be ready at
  /// all times. What the client sent before is read as its requests are served.
  private(set) var isHungUp = false
  /// What the poller watches the socket for.
  private(set) var interest: Poller.Interest = .read

  init(id: ClientID, channel: Channel<ClientMessage, CoordinatorReply>) {
    self.id = id
    self.channel = channel
  }

  // MARK: - Changes

  /// - Parameter isSame: whether both ends speak the same protocol. Otherwise no request is served.
  func didGreet(inSameProtocol isSame: Bool) {
    hasGreeted = isSame
  }

  func beginClosing() {
    isClosing = true
  }

  func didHangUp() {
    isHungUp = true
  }

  /// - Returns: what the poller has to watch the socket for from now on; `nil` when that stays as it
  ///   is.
  func takeInterestChange() -> Poller.Interest? {
    let wanted = wantedInterest
    guard wanted != interest, !isHungUp else { return nil }
    interest = wanted
    return wanted
  }

  // MARK: - The list that is received

  func open(_ submission: OpenSubmission) {
    precondition(self.submission == nil, "one list at a time")
    self.submission = submission
  }

  func updateSubmission(_ update: (inout OpenSubmission) -> Void) {
    guard var changed = submission else { preconditionFailure("the client sends a list") }
    update(&changed)
    submission = changed
  }

  /// - Returns: the list that is received no longer; `nil` when there was none.
  func endSubmission() -> OpenSubmission? {
    submission.take()
  }

  // MARK: - What the state calls for

  /// Whether the client may be served: not before it has read the replies to its earlier requests,
  /// and not while the disk lags behind its list.
  private var isServed: Bool {
    !isClosing && !channel.hasUnsent && (submission?.takesParts ?? true)
  }

  /// Whether the client has a turn coming.
  var wantsTurn: Bool { isServed && (channel.hasMessage || isHungUp) }

  /// Whether the socket may be read: not before the requests that have arrived are served.
  var isRead: Bool { isServed && !channel.hasMessage && !isHungUp }

  private var wantedInterest: Poller.Interest {
    var interest: Poller.Interest = []
    if isRead { interest.insert(.read) }
    if channel.hasUnsent { interest.insert(.write) }
    return interest
  }

  /// Why the client is closed when it owes something for too long; `nil` when it owes nothing.
  var debt: Debt? {
    if isClosing { return .reading }
    guard isRead else { return nil }
    if !hasGreeted { return .greeting }
    return channel.isWithinMessage ? .request : nil
  }

  var account: ClientLedger.Account {
    ClientLedger.Account(
      heldByteCount: channel.heldByteCount, isOwing: debt != nil,
      isInUse: submission != nil || !pending.isEmpty || channel.hasUnsent || channel.hasMessage)
  }

  /// The refusal of a request that may not become pending; `nil` when it may.
  func refusalToWait(_ request: RequestID) -> CoordinatorReply? {
    pending.obstacle(to: request).map {
      .refused(RequestRefusal(id: request, code: .invalidRequest, message: $0))
    }
  }
}
