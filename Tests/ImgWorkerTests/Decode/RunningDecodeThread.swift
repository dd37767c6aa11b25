import FoundationEssentials
import ImgFacts
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
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
  private let directory: TestDirectory

  /// - Parameter scripts: what the first decoders are; later ones are the program.
  init(limits: Limits = Limits(), scripts: [ScriptedDecoder.Script] = []) throws {
    directory = try TestDirectory()
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
          if case .thumbnails(let bytes, _) = input.payload { bytes[0] } else { nil }
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
