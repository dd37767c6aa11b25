import Glibc
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import TestCluster

/// Starts, kills and reaps decoders, as a coordinator does for a worker. Belongs to the thread whose
/// poller it uses.
final class DecoderHost {
  private final class Process {
    let child: ChildProcess

    init(_ child: consuming ChildProcess) {
      self.child = child
    }
  }

  /// The tokens of the poller from here on are decoders.
  static let firstToken: UInt64 = 1 << 16

  private let poller: Poller
  /// What the next decoders are: the program, or what a test plays.
  private var scripts: [ScriptedDecoder.Script]
  private var processes: [DecoderID: Process] = [:]
  /// The decoders' ends of the channels of those that a test asked to hold.
  private var heldChannels: [DecoderID: PassedFile] = [:]
  private var scripted: [DecoderID: ScriptedDecoder] = [:]
  private var exits: [DecoderExit] = []
  private(set) var startCount = 0
  /// Whether channels stay open here, too, so that a test can see what comes in.
  var holdsChannels = false

  init(poller: Poller, scripts: [ScriptedDecoder.Script] = []) {
    self.poller = poller
    self.scripts = scripts
  }

  deinit {
    for process in processes.values {
      process.child.signal(SIGKILL)
      _ = process.child.waitForExit(until: .now + ProgramRun.patience)
    }
  }

  func start(_ id: DecoderID, channel: PassedFile) throws {
    startCount += 1
    guard scripts.isEmpty else {
      let decoder = try ScriptedDecoder(scripts.removeFirst(), channel: channel)
      try poller.register(decoder.ends.descriptor, .read, token: Self.firstToken + id.rawValue)
      scripted[id] = decoder
      return
    }
    let child = try ChildProcess.spawn(
      executable: Programs.path(of: "imgdecoder"), arguments: [],
      environment: ["SWIFT_BACKTRACE": "enable=no"],
      descriptors: [(parent: channel.descriptor, child: DecoderDescriptor.channel)])
    try poller.register(child.descriptor, .read, token: Self.firstToken + id.rawValue)
    processes[id] = Process(child)
    if holdsChannels { heldChannels[id] = channel }
  }

  func end(_ id: DecoderID) {
    processes[id]?.child.signal(SIGKILL)
    guard let decoder = scripted.removeValue(forKey: id) else { return }
    poller.unregister(decoder.ends.descriptor)
    exits.append(DecoderExit(decoder: id, end: .signalled(SIGKILL)))
  }

  /// Sends a signal to the program.
  func signal(_ id: DecoderID, _ signal: CInt) {
    processes[id]?.child.signal(signal)
  }

  /// Waits until the worker has sent a stopped decoder something, and lets go of its channel.
  func waitForRequest(to id: DecoderID) throws -> Bool {
    guard let channel = heldChannels.removeValue(forKey: id) else { return false }
    return try UnixSocket.waitReadable(channel.descriptor, until: .now + ProgramRun.patience)
  }

  /// The ends of decoders since the last call.
  func takeExits() -> [DecoderExit] {
    for (id, process) in processes {
      guard let status = process.child.reap() else { continue }
      poller.unregister(process.child.descriptor)
      processes[id] = nil
      switch status {
      case .exited(let code): exits.append(DecoderExit(decoder: id, end: .exited(code)))
      case .signalled(let signal):
        exits.append(DecoderExit(decoder: id, end: .signalled(signal)))
      }
    }
    for (id, decoder) in scripted {
      guard let end = decoder.ends.takeAll().first else { continue }
      poller.unregister(decoder.ends.descriptor)
      scripted[id] = nil
      exits.append(DecoderExit(decoder: id, end: end))
    }
    defer { exits = [] }
    return exits
  }
}
