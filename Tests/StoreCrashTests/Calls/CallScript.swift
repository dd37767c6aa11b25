import Glibc

/// What happens to the calls that one thread makes into LMDB, and that LMDB makes into the system
/// for it: they are counted, one of them can be made to fail, and those that write are recorded.
///
/// The functions of `InterposedLibrary.swift` and `InterposedSystem.swift` stand before those of
/// the libraries in this program; a thread without a script passes through them.
final class CallScript {
  /// Which calls are counted.
  enum Level: String, CaseIterable, Sendable {
    /// Those into LMDB.
    case library
    /// Those of LMDB into the system.
    case system
  }

  /// How a call fails.
  enum Fault: Hashable, Sendable {
    /// With a code: LMDB's or an `errno`.
    case code(CInt)
    /// A write takes half of what it was given and says so; other calls fail with `ENOSPC`.
    case shortWrite
  }

  private struct Plan {
    let level: Level
    let position: Int
    let fault: Fault
  }

  private var plan: Plan?
  /// Calls counted since the plan was made.
  private(set) var callCount = 0
  /// The call that was made to fail; `nil` when there were not so many.
  private(set) var failed: String?
  /// How deep the thread is within LMDB.
  private var depth = 0

  // What is open of LMDB's, by address.

  private(set) var environments: Set<UInt> = []
  private(set) var writers: Set<UInt> = []
  private(set) var readers: Set<UInt> = []
  private(set) var cursors: Set<UInt> = []

  /// Every write since the script began, in order; empty unless it records.
  private(set) var log: [WriteEvent] = []
  private let isRecording: Bool

  init(isRecording: Bool = false) {
    self.isRecording = isRecording
  }

  // MARK: - The thread's script

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key, nil)
    precondition(code == 0, "a process has a thousand keys")
    return key
  }()

  /// The script of the calling thread.
  static var current: CallScript? {
    guard let pointer = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<CallScript>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Runs `body` with this as the script of the calling thread.
  func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    defer { pthread_setspecific(Self.key, nil) }
    return try body()
  }

  // MARK: - Failing

  /// Makes the call at a position, counted from 1 from now on, fail once.
  func fail(_ position: Int, of level: Level, with fault: Fault) {
    plan = Plan(level: level, position: position, fault: fault)
    callCount = 0
    failed = nil
  }

  func stopFailing() {
    plan = nil
  }

  /// Counts a call.
  ///
  /// - Returns: the fault of the call; `nil` to make the call.
  func fault(in function: String, of level: Level) -> Fault? {
    guard let plan, plan.level == level, level == .system || depth == 0 else { return nil }
    callCount += 1
    guard callCount == plan.position else { return nil }
    failed = function
    return plan.fault
  }

  // MARK: - Within LMDB

  /// Whether the thread is within a call into LMDB, so that what it calls is called by LMDB.
  var isInLibrary: Bool { depth > 0 }

  func enteringLibrary<Result>(_ body: () -> Result) -> Result {
    depth += 1
    defer { depth -= 1 }
    return body()
  }

  func record(_ event: WriteEvent) {
    if isRecording { log.append(event) }
  }

  // MARK: - What is open

  func opened(_ environment: OpaquePointer?) {
    environments.insert(UInt(bitPattern: environment))
  }

  func closed(_ environment: OpaquePointer?) {
    environments.remove(UInt(bitPattern: environment))
  }

  func began(_ transaction: OpaquePointer?, isReadOnly: Bool) {
    if isReadOnly {
      readers.insert(UInt(bitPattern: transaction))
    } else {
      writers.insert(UInt(bitPattern: transaction))
    }
  }

  /// - Returns: whether it was a writer.
  @discardableResult
  func ended(_ transaction: OpaquePointer?) -> Bool {
    readers.remove(UInt(bitPattern: transaction))
    return writers.remove(UInt(bitPattern: transaction)) != nil
  }

  func openedCursor(_ cursor: OpaquePointer?) {
    cursors.insert(UInt(bitPattern: cursor))
  }

  func closedCursor(_ cursor: OpaquePointer?) {
    cursors.remove(UInt(bitPattern: cursor))
  }
}

/// Something that changes what a file holds, or what a power cut leaves of it.
enum WriteEvent {
  /// Bytes at an offset.
  ///
  /// - Parameter isDurable: the call waited for the disk to have them (`O_DSYNC`).
  case write(file: ino_t, offset: Int, bytes: [UInt8], isDurable: Bool)
  /// The file became so long, if it was shorter.
  case extend(file: ino_t, byteCount: Int)
  /// The disk has everything written until now.
  case synced(file: ino_t)
  /// A transaction that wrote was committed.
  case committed

  /// Whether it happened to this file, or is a commit.
  func isOf(_ file: ino_t) -> Bool {
    switch self {
    case .write(let written, _, _, _): written == file
    case .extend(let extended, _): extended == file
    case .synced(let synced): synced == file
    case .committed: true
    }
  }

  var isWrite: Bool { if case .write = self { true } else { false } }

  var isSynced: Bool { if case .synced = self { true } else { false } }

  var isCommitted: Bool { if case .committed = self { true } else { false } }
}

/// The file behind a descriptor.
func fileNumber(of descriptor: CInt) -> ino_t {
  var status = stat()
  return unsafe fstat(descriptor, &status) == 0 ? status.st_ino : 0
}
