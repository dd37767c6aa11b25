import ImgModel

/// What an event of the poller is about, packed into its 64 bits: the kind in the highest 8, and the
/// number in the others. Numbers are not reused, so an event for a connection that was closed in the
/// same round finds nothing.
enum Token {
  case listener
  case signals
  case journal
  case client(ClientID)
  case workerChannel(WorkerID)
  case workerExit(WorkerID)
  case decoderExit(DecoderNumber)
  case errors(ErrorSource)

  /// Counting up reaches no number that has more bits.
  private static let numberBitCount: UInt64 = 56

  private var kind: UInt64 {
    switch self {
    case .listener: 0
    case .signals: 1
    case .journal: 2
    case .client: 3
    case .workerChannel: 4
    case .workerExit: 5
    case .decoderExit: 6
    case .errors(.worker): 7
    case .errors(.decoder): 8
    }
  }

  private var number: UInt64 {
    switch self {
    case .listener, .signals, .journal: 0
    case .client(let client): client.rawValue
    case .workerChannel(let worker), .workerExit(let worker), .errors(.worker(let worker)):
      worker.rawValue
    case .decoderExit(let decoder), .errors(.decoder(let decoder)): decoder.rawValue
    }
  }

  var rawValue: UInt64 { kind << Self.numberBitCount | number }

  /// Whether an event is about a client, or about one that wants to connect.
  static func isOfClientsOrListener(_ rawValue: UInt64) -> Bool {
    switch Token(rawValue: rawValue) {
    case .listener, .client: true
    case .signals, .journal, .workerChannel, .workerExit, .decoderExit, .errors, nil: false
    }
  }

  init?(rawValue: UInt64) {
    let number = rawValue & (1 << Self.numberBitCount - 1)
    switch rawValue >> Self.numberBitCount {
    case 0: self = .listener
    case 1: self = .signals
    case 2: self = .journal
    case 3: self = .client(ClientID(rawValue: number))
    case 4: self = .workerChannel(WorkerID(rawValue: number))
    case 5: self = .workerExit(WorkerID(rawValue: number))
    case 6: self = .decoderExit(DecoderNumber(rawValue: number))
    case 7: self = .errors(.worker(WorkerID(rawValue: number)))
    case 8: self = .errors(.decoder(DecoderNumber(rawValue: number)))
    default: return nil
    }
  }
}
