import CLMDB
import ImgStore
import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

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
    let directory = try TestDirectory()
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
    let directory = try TestDirectory()
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
    #expect(sentence?.hasPrefix("the store") == true, "\(trial)")
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
