import FoundationEssentials
import Glibc
import ImgFacts
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine
import TestCluster
import TestFiles

@testable import ImgWorker

/// A decode thread with the test as its loop and as its coordinator.
final class RunningDecodeThread {
  private enum Token {
    static let commands: UInt64 = 1
    static let inbox: UInt64 = 2
  }

  let thread: DecodeThread
  let host: DecoderHost
  /// What the thread asked for so far.
  private(set) var endedDecoders: [DecoderID] = []
  private(set) var isReady = false
  private(set) var failure: String?
  private(set) var previews: [PreviewEnd] = []
  private(set) var results: [(lease: LeaseID, end: DecodeEnd, bytes: [UInt8]?)] = []
  private let poller: Poller
  private let commands: Mailbox<DecoderCommand>
  private let inbox: Mailbox<Input>
  private let directory = TestDirectory()

  /// - Parameter scripts: what the first decoders are; later ones are the program.
  init(limits: Limits = Limits(), scripts: [ScriptedDecoder.Script] = []) throws {
    let store = try SharedStore(
      directory: directory.file("store"), access: .readWrite(budgetByteCount: 10 << 20))
    poller = try Poller()
    commands = try Mailbox()
    inbox = try Mailbox()
    host = DecoderHost(poller: poller, scripts: scripts)
    thread = try DecodeThread(
      limits: limits, requiresSandbox: false,
      reader: PictureReader(store: store, files: LocalFiles(directories: [])),
      heartbeat: WorkerHeartbeat(), capacity: 100, commands: commands, inbox: inbox)
    try poller.register(commands.descriptor, .read, token: Token.commands)
    try poller.register(inbox.descriptor, .read, token: Token.inbox)
  }

  /// Submits a picture, and waits for what becomes of it.
  func decode(_ picture: [UInt8], lease: LeaseID = 1) throws -> DecodeEnd? {
    submit(picture, lease: lease)
    return try end(of: lease)
  }

  func submit(_ picture: [UInt8], lease: LeaseID = 1) {
    thread.submit(
      DecodeJob(
        lease: lease, source: .bytes(picture), variants: [.standard], facts: nil,
        describesPixels: false, declaredType: nil, isLenient: false, isUrgent: false))
  }

  /// Submits a picture for the pixels of its thumbnail, and waits for what becomes of it.
  func pixels(of picture: [UInt8], lease: LeaseID = 1) throws -> DecodeEnd? {
    thread.submit(
      DecodeJob(
        lease: lease, source: .bytes(picture), variants: [.standard], facts: nil,
        describesPixels: false, declaredType: nil, isLenient: false, isUrgent: false,
        wantsPixels: true))
    return try end(of: lease)
  }

  /// Submits a picture whose header alone is checked, and waits for what becomes of it.
  func header(of picture: [UInt8], lease: LeaseID = 1) throws -> DecodeEnd? {
    thread.submit(
      DecodeJob(
        lease: lease, source: .bytes(picture), variants: [.standard], facts: nil,
        describesPixels: false, declaredType: nil, isLenient: false, isUrgent: false,
        readsHeaderAlone: true))
    return try end(of: lease)
  }

  /// Submits a picture for its facts with those of its pixels, and waits for what becomes of it.
  func pixelFacts(of picture: [UInt8], lease: LeaseID = 1) throws -> DecodeEnd? {
    thread.submit(
      DecodeJob(
        lease: lease, source: .bytes(picture), variants: [.standard], facts: .all,
        describesPixels: true, declaredType: "image/gif", isLenient: false, isUrgent: false))
    return try end(of: lease)
  }

  /// The facts that the last job ended with.
  func lastRecord() throws -> FactsRecord? {
    try results.last?.bytes.map { try JSONDecoder().decode(FactsRecord.self, from: Data($0)) }
  }

  /// Submits a part of a picture.
  ///
  /// - Returns: whether the thread takes it.
  func submit(part: [UInt8], shownByteCount: Int = 0) throws -> Bool {
    let memory = try PictureMemory(maximumByteCount: 10 << 20)
    memory.put(part.span)
    return thread.submit(
      PreviewJob(
        order: PreviewOrder(
          transfer: TransferID(rawValue: 1), lease: 1, variant: .standard,
          shownByteCount: shownByteCount),
        part: .memory(memory, byteCount: part.count)))
  }

  /// Makes a preview of a part of a picture.
  func preview(_ part: [UInt8], shownByteCount: Int = 0) throws -> PreviewEnd? {
    let count = previews.count
    guard try submit(part: part, shownByteCount: shownByteCount) else { return nil }
    try run { previews.count > count }
    return previews.last
  }

  func end(of lease: LeaseID) throws -> DecodeEnd? {
    try run { results.contains { $0.lease == lease } }
    return results.first { $0.lease == lease }?.end
  }

  /// Does the work of a loop and of a coordinator.
  func run(until isDone: () -> Bool) throws {
    let deadline = ContinuousClock.now + ProgramRun.patience
    while !isDone() {
      for exit in host.takeExits() { thread.decoderExited(exit) }
      guard ContinuousClock.now < deadline else { throw TooLate() }
      _ = try poller.wait(timeout: deadline - .now)
      for command in commands.takeAll() { try perform(command) }
      for input in inbox.takeAll() {
        if case .previewed(_, let end) = input.event { previews.append(end) }
        guard case .decoded(let lease, let end, _) = input.event else { continue }
        thread.finished(lease)
        let bytes: [UInt8]? =
          if case .thumbnails(let bytes, _) = input.payload { bytes.first } else { nil }
        results.append((lease, end, bytes))
      }
    }
  }

  private func perform(_ command: DecoderCommand) throws {
    switch command {
    case .start(let id, let channel): try host.start(id, channel: channel)
    case .end(let id):
      endedDecoders.append(id)
      host.end(id)
    case .ready: isReady = true
    case .failed(let reason): failure = reason
    }
  }

  struct TooLate: Error {}
}

extension DecodeEnd {
  var failure: Failure? {
    if case .failed(let failure) = self { failure } else { nil }
  }

  var thumbnail: Thumbnail? {
    if case .picture(let picture) = self { picture.thumbnail } else { nil }
  }
}

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

/// A decoder that a test plays, on a thread of its own.
final class ScriptedDecoder {
  /// Plays a decoder from its start to its end, which it returns; `nil` if it closes its channel and
  /// does not end by itself.
  typealias Script = @Sendable (Role) throws -> DecoderExit.End?

  /// A number that no process has.
  static let noProcess: Int32 = 1 << 30

  /// - Parameter processID: the process whose time counts as the decoder's.
  static func ready(processID: Int32 = noProcess) -> DecoderReport {
    .ready(processID: processID, SandboxReport())
  }

  /// The decoder's side of the connection.
  final class Role {
    let channel: Channel<DecoderOrder, DecoderReport>
    let limits: Limits
    let thumbnail: ThumbnailMemory
    let picture: PictureMemory

    init(_ descriptor: consuming OwnedDescriptor) throws {
      channel = try Channel(descriptor)
      let first = try channel.nextDelivery(until: nil)
      let second = try channel.nextDelivery(until: nil)
      guard case .start(let limits, _) = first.message, let thumbnailFile = first.file,
        let pictureFile = second.file
      else { throw Unexpected() }
      self.limits = limits
      thumbnail = try ThumbnailMemory(mapping: thumbnailFile)
      picture = try PictureMemory(mapping: pictureFile)
    }

    /// Says that it is ready, and waits for a picture.
    func takePicture() throws -> DecodeRequest {
      try channel.send(ScriptedDecoder.ready())
      return try nextPicture()
    }

    /// Says that it is ready, and waits for a picture whose pixels it describes.
    ///
    /// - Returns: the number of the picture.
    func takeDescription() throws -> UInt64 {
      try channel.send(ScriptedDecoder.ready())
      guard case .describe(let picture, _) = try channel.next(until: nil) else {
        throw Unexpected()
      }
      return picture
    }

    func nextPicture() throws -> DecodeRequest {
      guard case .decode(let request) = try channel.next(until: nil) else { throw Unexpected() }
      return request
    }

    /// Waits until the worker gives this decoder up.
    func waitForClose() {
      while (try? channel.next(until: nil)) != nil {}
    }
  }

  /// Gets the end of the decoder.
  let ends: Mailbox<DecoderExit.End>
  private let thread: ServiceThread<Never>

  init(_ script: @escaping Script, channel: PassedFile) throws {
    let ends = try Mailbox<DecoderExit.End>()
    self.ends = ends
    let descriptor = fcntl(channel.descriptor, F_DUPFD_CLOEXEC, 0)
    thread = try ServiceThread(name: "scripted", capacity: 1) { _ in
      let end: DecoderExit.End?
      do {
        // Closed before its end is told, like that of a process.
        end = try script(Role(OwnedDescriptor(adopting: descriptor)))
      } catch {
        end = .exited(1)
      }
      if let end { ends.post(end) }
    }
  }

  struct Unexpected: Error {}
}
