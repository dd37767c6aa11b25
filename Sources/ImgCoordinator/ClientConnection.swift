import ImgCore
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// One client: its connection, and what it has asked for that is not answered.
final class ClientConnection {
  /// A list that is being received.
  struct OpenSubmission {
    let request: RequestID
    let job: JobID
    /// Parts handed to the journal and not yet durable.
    var unwrittenCount = 0
    var isComplete = false
  }

  /// What a client owes that takes no time.
  enum Debt: String {
    case greeting = "it did not greet"
    case request = "it did not send the rest of a request"
    case reading = "it did not read why it is closed"
  }

  let number: UInt32
  let channel: Channel<ClientMessage, CoordinatorReply>
  var hasGreeted = false
  var submission: OpenSubmission?
  /// The jobs it watches, with the state it was told last.
  var watches: [RequestID: JobStatus] = [:]
  var viewers: [RequestID: ViewerID] = [:]
  /// Its changes of jobs that are not durable yet.
  var changes: Set<RequestID> = []
  /// Set when it is to be closed once everything is sent.
  var isClosing = false
  /// The client has closed its end. The poller no longer watches the socket, which would be ready at
  /// all times; what the client has sent before is read as its requests are served.
  var isHungUp = false
  /// What the poller watches the socket for.
  var interest: Poller.Interest = .read

  /// Parts of a list that may wait for the disk; meanwhile the client is not served.
  private static let unwrittenMaximum = 8
  /// Requests of one client that may wait for an answer.
  static let pendingMaximum = 1_024

  init(number: UInt32, channel: Channel<ClientMessage, CoordinatorReply>) {
    self.number = number
    self.channel = channel
  }

  /// Whether the client may be served: not before it has read the replies to its earlier requests,
  /// and not while the disk lags behind its list.
  private var isServed: Bool {
    !isClosing && !channel.hasUnsent && (submission?.unwrittenCount ?? 0) < Self.unwrittenMaximum
  }

  /// Whether the client has a turn coming.
  var wantsTurn: Bool { isServed && (channel.hasMessage || isHungUp) }

  /// Whether the socket may be read: not before the requests that have arrived are served.
  var isRead: Bool { isServed && !channel.hasMessage && !isHungUp }

  /// What the poller is to watch the socket for.
  var wantedInterest: Poller.Interest {
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
      isInUse: submission != nil || !watches.isEmpty || !viewers.isEmpty || !changes.isEmpty
        || channel.hasUnsent || channel.hasMessage)
  }

  /// Why a request of this number may not wait for an answer that comes later; `nil` when it may.
  func reasonNotToWait(for request: RequestID) -> String? {
    if watches[request] != nil || viewers[request] != nil || changes.contains(request) {
      return "a request of this number waits already"
    }
    return watches.count + viewers.count + changes.count < Self.pendingMaximum
      ? nil : "\(Self.pendingMaximum) requests of this client wait already"
  }
}
