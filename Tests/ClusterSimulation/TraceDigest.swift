import FoundationEssentials
import ImgModel
import ImgScheduler
import ImgWire

/// A digest over everything that the scheduler wants done, in its order. Two builds whose digests
/// are equal for the same seeds have decided alike, so a change of structure shows itself to be one
/// of behaviour. It depends on the JSON of messages and values, and on no name in the scheduler.
struct TraceDigest {
  /// FNV-1a.
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
  private let encoder = JSONEncoder()

  init() {
    encoder.outputFormatting = .sortedKeys
  }

  mutating func add(_ effects: [Effect]) {
    for effect in effects { add(effect) }
    add("end of event")
  }

  private mutating func add(_ effect: Effect) {
    switch effect {
    case .send(let message, let worker): add("send", message, worker)
    case .pass(let file, let message, let worker):
      add("pass", file.rawValue, message, worker)
    case .spawn(let worker, let number): add("spawn", worker, number)
    case .kill(let worker): add("kill", worker)
    case .readLines(let request):
      add("read", request.job, request.order, request.positions, request.limit)
    case .journal(let operation): add(operation)
    case .answer(let viewer, let outcome, let timings):
      add("answer", viewer.rawValue, outcome, timings)
    case .deliver(let file, let made, let byteCount, let viewer):
      add("deliver", file.rawValue, made, byteCount, viewer.rawValue)
    case .show(let file, let thumbnail, let viewer):
      add("show", file.rawValue, thumbnail, viewer.rawValue)
    case .reportProgress(let progress, let viewer): add("progress", progress, viewer.rawValue)
    case .release(let file): add("release", file.rawValue)
    case .jobEnded(let record): add("job ended", record)
    case .storeErrorBegan(let status): add("store error began", status)
    case .storeErrorEnded(let status): add("store error ended", status)
    case .recreateStore(let reason): add("recreate", reason)
    case .drained: add("drained")
    case .noWorkers(let reason): add("give up", reason)
    }
  }

  private mutating func add(_ operation: JournalOperation) {
    switch operation {
    case .createJob(let record): add("create", record)
    case .appendURLs(let job, let lines): add("append", job, lines)
    case .seal(let job): add("seal", job)
    case .discard(let job): add("discard", job)
    case .start(let job, let moment): add("start", job, moment.rawValue)
    case .record(let job, let index, let outcome): add("record", job, index, outcome)
    case .finish(let job, let moment): add("finish", job, moment.rawValue)
    case .change(let job, let change, let moment): add("change", job, change, moment.rawValue)
    }
  }

  private mutating func add(_ kind: String, _ values: (any Encodable)...) {
    add(Array(kind.utf8))
    for value in values {
      guard let json = try? encoder.encode(value) else {
        preconditionFailure("\(value) has no JSON")
      }
      add(Array(json))
    }
  }

  private mutating func add(_ bytes: [UInt8]) {
    for byte in bytes + [0] {
      value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
  }
}
