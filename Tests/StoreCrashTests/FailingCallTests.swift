import CLMDB
import Glibc
import ImgStore
import ImgSystem
import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

/// Every call that an operation makes, made to fail in its turn.
@Suite(.timeLimit(.minutes(20))) struct FailingCallTests {
  /// Each call fails with one of these, by its position.
  private static let libraryFaults: [CallScript.Fault] = [
    .code(MDB_MAP_FULL), .code(ENOSPC), .code(ENOMEM), .code(EIO), .code(MDB_READERS_FULL),
    .code(MDB_MAP_RESIZED), .code(MDB_CORRUPTED),
  ]
  private static let systemFaults: [CallScript.Fault] = [
    .code(ENOSPC), .code(EIO), .shortWrite,
  ]

  @Test(arguments: StoreOperation.allCases)
  func `a failing LMDB call is an error, and the store stays`(operation: StoreOperation) throws {
    try failEachCall(of: operation, level: .library, faults: Self.libraryFaults)
  }

  @Test(arguments: StoreOperation.allCases)
  func `a failing system call of LMDB is an error and leaves the store intact`(
    operation: StoreOperation
  ) throws {
    try failEachCall(of: operation, level: .system, faults: Self.systemFaults)
  }

  private func failEachCall(
    of operation: StoreOperation, level: CallScript.Level, faults: [CallScript.Fault]
  ) throws {
    let sweep = try FailingSweep(operation, level: level)
    // Each position has one of the faults, or all of them in rounds.
    let roundCount = level == .system || CrashTestSettings.isThorough ? faults.count : 1
    var failedCount = 0
    for round in 0..<roundCount {
      var position = 1
      while try sweep.fail(position, with: faults[(position + round) % faults.count]) {
        position += 1
      }
      failedCount += position - 1
    }
    #expect(failedCount > 0 || level == .system)
    print("\(operation): \(failedCount) failing calls on the level of the \(level)")
  }
}

/// An operation again and again from the same beginning, each time with another call failing.
struct FailingSweep {
  private let operation: StoreOperation
  private let level: CallScript.Level
  private let base: StoreBase
  private let before: StoreState
  private let after: StoreState

  private static let probe = Picture(number: 500, generation: 1, byteCount: 5_000)

  init(_ operation: StoreOperation, level: CallScript.Level) throws {
    self.operation = operation
    self.level = level
    base = try StoreBase()
    let directory = TestDirectory()
    let path = try Self.begin(operation, base, in: directory)
    let store = try PictureStore(directory: path, budgetByteCount: operation.budgetByteCount)
    before = try StoreState(of: store)
    _ = try operation.isOpening ? store : operation.perform(on: store, in: path)
    after = try StoreState(of: store)
  }

  private static func begin(
    _ operation: StoreOperation, _ base: StoreBase, in directory: TestDirectory
  ) throws -> String {
    let path = directory.file("store")
    if operation != .create { try base.write(to: path) }
    return path
  }

  /// Carries the operation out with the call at a position failing, and checks what is left.
  ///
  /// - Returns: whether there was such a call.
  func fail(_ position: Int, with fault: CallScript.Fault) throws -> Bool {
    let directory = TestDirectory()
    let path = try Self.begin(operation, base, in: directory)
    let script = CallScript()
    return try script.run {
      var store = operation.isOpening ? nil : try open(path)
      script.fail(position, of: level, with: fault)
      var thrown: (any Error)?
      do {
        store = try operation.perform(on: store, in: path)
      } catch {
        thrown = error
      }
      script.stopFailing()
      guard let function = script.failed else {
        #expect(thrown == nil)
        return false
      }
      let trial = "\(operation), call \(position), \(function), \(fault): \(thrown, default: "-")"
      checkSentence(of: thrown, trial)
      // A writer that is left would make the next one wait for ever.
      try #require(script.writers.isEmpty, "\(trial)")
      #expect(script.cursors.isEmpty, "\(trial)")
      if let store, try isUsable(store) {
        try checkState(of: store, isFailed: thrown != nil, after: fault, trial)
      }
      store = nil
      try checkClosed(script, trial)
      try checkReopened(path, isFailed: thrown != nil, after: fault, trial)
      try checkClosed(script, trial)
      return true
    }
  }

  private func open(_ path: String) throws -> PictureStore {
    try PictureStore(directory: path, budgetByteCount: operation.budgetByteCount)
  }

  // MARK: - Checks

  /// An environment that could not write the page that makes a commit current refuses everything
  /// from then on (`MDB_PANIC`), until it is closed; nothing of the commit has happened.
  private func isUsable(_ store: PictureStore) throws -> Bool {
    do {
      _ = try store.occupiedByteCount()
      return true
    } catch {
      guard level == .system, error.code.rawValue == MDB_PANIC else { throw error }
      return false
    }
  }

  private func checkSentence(of thrown: (any Error)?, _ trial: String) {
    guard let thrown else { return }
    let sentence = (thrown as? StoreError)?.description
    let beginnings = ["the store in ", "the disk of the store in "]
    #expect(beginnings.contains { sentence?.hasPrefix($0) == true }, "\(trial)")
    #expect(sentence?.contains("\n") == false, "\(trial)")
  }

  /// The operation has happened or not, as a whole; it has when it said so. A store that LMDB calls
  /// damaged was recreated: it is empty, or has what the operation stored.
  private func checkState(
    of store: PictureStore, isFailed: Bool, after fault: CallScript.Fault, _ trial: String
  ) throws {
    let state = try StoreState(of: store)
    let isAnew = fault == .code(MDB_CORRUPTED) && state.isPart(of: self.after)
    #expect(
      state == self.after || isFailed && state == before || isAnew
        || hasEvictedOthers(state, isFailed: isFailed), "\(trial)")
  }

  /// Which of the old ones an eviction takes depends on how often it was begun; never that those of
  /// the operation are there when it said so.
  private func hasEvictedOthers(_ state: StoreState, isFailed: Bool) -> Bool {
    guard operation == .putAndEvict, state.defects.count <= before.defects.count else {
      return false
    }
    let known = before.contents.merging(after.contents) { _, new in new }
    let newcomers = after.contents.keys.filter { before.contents[$0] == nil }
    return state.contents.allSatisfy { known[$0.key] == $0.value }
      && (isFailed || newcomers.allSatisfy { state.contents[$0] != nil })
  }

  private func checkReopened(
    _ path: String, isFailed: Bool, after fault: CallScript.Fault, _ trial: String
  ) throws {
    let store = try open(path)
    try checkState(of: store, isFailed: isFailed, after: fault, trial)
    try store.put([Self.probe], at: 0)
    #expect(try store.picture(Self.probe.number, at: 0) == Self.probe, "\(trial)")
    #expect(try store.defects().count <= before.defects.count, "\(trial)")
  }

  private func checkClosed(_ script: CallScript, _ trial: String) throws {
    #expect(script.environments.isEmpty, "\(trial)")
    #expect(script.readers.isEmpty, "\(trial)")
    #expect(script.cursors.isEmpty, "\(trial)")
    try #require(script.writers.isEmpty, "\(trial)")
  }
}

/// Everything that is done with a store, each so that it has something to do in the store of
/// ``StoreBase``.
enum StoreOperation: String, CaseIterable, Sendable {
  case create, open, openForReading
  case put, replace, putAndEvict, remove, removeStale, clean, reset, repair
  case picture, lookUpMany, list, verify, summary, figures, clearDeadReaders

  /// Whether it opens the store; the others have it open before.
  var isOpening: Bool { [.create, .open, .openForReading].contains(self) }

  /// So small for an eviction that the store is over it.
  var budgetByteCount: Int64 { self == .putAndEvict ? 128 << 10 : 64 << 20 }

  /// - Parameter store: `nil` for an operation that opens it.
  /// - Returns: the store.
  func perform(on store: PictureStore?, in directory: String) throws -> PictureStore {
    guard let store else {
      return self == .openForReading
        ? try PictureStore(readingFrom: directory)
        : try PictureStore(directory: directory, budgetByteCount: budgetByteCount)
    }
    let numbers = Array(StoreBase.numbers)
    switch self {
    case .create, .open, .openForReading: break
    case .put: try store.put(pictures(100..<103), at: 0)
    case .replace: try store.put(pictures(1..<4), at: 0)
    case .putAndEvict: try store.put(pictures(100..<104), at: 0)
    case .remove: try store.remove([1, 2, 3, 1_000])
    case .removeStale: try store.removeStale(StoreBase.expiring, at: StoreBase.laterTime)
    case .clean: try store.clean(at: StoreBase.laterTime)
    case .reset: try store.reset()
    case .repair: try store.repair()
    case .picture: _ = try store.picture(5, at: 0)
    case .lookUpMany: _ = try store.hitCount(numbers, at: 0)
    case .list: _ = try store.contents()
    case .verify: _ = try store.defects()
    case .summary: _ = try store.occupiedByteCount()
    case .figures: _ = try store.figures()
    case .clearDeadReaders: _ = try store.clearDeadReaders()
    }
    return store
  }

  private func pictures(_ numbers: Range<Int>) -> [Picture] {
    numbers.map { Picture(number: $0, generation: 2, byteCount: 5_000) }
  }
}

/// What a store holds, and what is wrong with it.
struct StoreState: Equatable {
  let contents: [Int: Picture]
  let defects: [String]

  init(of store: PictureStore) throws {
    contents = try store.contents()
    defects = try store.defects()
  }

  /// Whether it is sound and has nothing that the other has not.
  func isPart(of other: StoreState) -> Bool {
    defects.isEmpty && contents.allSatisfy { other.contents[$0.key] == $0.value }
  }
}

/// The data file of a store with pictures, some of them expiring and one damaged: what an operation
/// starts from.
struct StoreBase {
  static let numbers = 0..<12
  /// It expires, as do others, before ``laterTime``.
  static let expiring = 9
  static let laterTime = 100
  private static let damaged = 7

  private let data: [UInt8]

  init() throws {
    let directory = TestDirectory()
    do {
      let store = try PictureStore(directory: directory.file("store"), budgetByteCount: 64 << 20)
      try store.put(Self.numbers.map(Self.picture), at: 0)
    }
    var data = try DataFile.bytes(in: directory.file("store"))
    // The middle of a picture that no other bytes of the file resemble.
    let picture = Self.picture(Self.damaged).bytes
    guard let start = DataFile.position(of: Array(picture[32..<64]), in: data) else {
      throw DataFile.NotFound()
    }
    data[start] ^= 1
    self.data = data
  }

  private static func picture(_ number: Int) -> Picture {
    Picture(
      number: number, generation: 1, byteCount: 1_000 + 500 * number,
      expiresAt: number >= expiring ? 50 : Picture.never)
  }

  /// Makes a store that begins with it in a directory.
  func write(to directory: String) throws {
    try DataFile.write(data, to: directory)
  }
}

/// A store on a disk that is full from the beginning.
@Suite(.timeLimit(.minutes(20))) struct FullDiskTests {
  @Test(
    .enabled("a tmpfs of its own needs user namespaces") { try SmallDisk.isAvailable() },
    arguments: [0, 8, 40])
  func `creating a store without disk space is an error, not a crash`(freeKibibytes: Int) throws {
    let directory = TestDirectory()
    let disk = SmallDisk(directory: directory.path, kibibytes: 128)
    let program = try Programs.path(of: "imgcrashtest")
    let script = "head -c \((128 - freeKibibytes) << 10) /dev/zero > \"$0\"/ballast; exec \"$@\""
    let command = disk.command([
      "/bin/sh", "-c", script, directory.path, program, "serve", directory.file("store"),
      "\(1 << 24)",
    ])
    let outside = TestDirectory()
    let run = try ProgramRun(
      command[0], Array(command.dropFirst()),
      environment: ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"], in: outside)
    let result = try run.wait()
    #expect(result.exitCode == 2, "\(result)")
    #expect(result.messages.contains("is full"))
  }
}

/// Environment variables that control the extent of the crash tests.
enum CrashTestSettings {
  /// The number of killed processes.
  static let killCount = number("IMGCTL_TEST_KILLS").map { Int($0) } ?? 40
  /// The seed of a failure replays it.
  static let seed = number("IMGCTL_TEST_SEED") ?? UInt64.random(in: 0..<1 << 32)
  /// Whether each failing call fails in every way, which takes minutes.
  static let isThorough = number("IMGCTL_TEST_THOROUGH") == 1

  private static func number(_ variable: String) -> UInt64? {
    ThisProcess.environment[variable].flatMap { UInt64($0) }
  }
}
