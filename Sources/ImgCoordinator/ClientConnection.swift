import ImgCore
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

  /// Parts of a list that may wait for the disk; meanwhile the client is not read.
  private static let unwrittenMaximum = 8
  /// What may come of them in what has been read already, when the parts are small.
  static let unwrittenHardMaximum = 1_024
  /// Requests of one client that may wait for an answer.
  static let pendingMaximum = 1_024

  init(number: UInt32, channel: Channel<ClientMessage, CoordinatorReply>) {
    self.number = number
    self.channel = channel
  }

  /// Whether the client may be read: not while the disk lags behind its list.
  var isReading: Bool {
    !isClosing && (submission?.unwrittenCount ?? 0) < Self.unwrittenMaximum
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
