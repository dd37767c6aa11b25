import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// What the decode thread asks of the coordinator, on its way there.
struct DecoderRequests {
  /// What became of the decoders.
  enum Change {
    /// The first decoder is ready: this confines it.
    case ready(SandboxReport)
    /// No decoder can be started.
    case failed(DecodersFailed)
  }

  let commands: Mailbox<DecoderCommand>
  /// Bounded: the thread asks for a decoder only in place of another.
  private var waiting: [DecoderCommand] = []

  init() throws(SystemError) {
    commands = try Mailbox()
  }

  /// Sends as many as the coordinator keeps up with.
  ///
  /// - Returns: what concerns the worker itself.
  mutating func send(
    over channel: Channel<CoordinatorMessage, WorkerMessage>
  ) throws(ChannelError) -> [Change] {
    var changes: [Change] = []
    waiting += commands.takeAll()
    while let command = waiting.first {
      switch command {
      case .start(let id, let end):
        guard channel.takesFile else { return changes }
        try channel.send(.startDecoder(DecoderReference(decoder: id)), with: end)
      case .end(let id): try channel.send(.endDecoder(DecoderReference(decoder: id)))
      case .ready(let sandbox): changes.append(.ready(sandbox))
      case .failed(let reason): changes.append(.failed(DecodersFailed(reason: reason)))
      }
      waiting.removeFirst()
    }
    return changes
  }
}

/// A worker without decoders is of no use.
struct DecodersFailed: Error, CustomStringConvertible {
  let reason: String

  var description: String { "no decoder can be started: \(reason)" }
}
