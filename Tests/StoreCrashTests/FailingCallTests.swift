import CLMDB
import Glibc
import ImgStore
import StoreCrashSupport
import TestCluster
import Testing

/// Every call that an operation makes, made to fail in its turn.
@Suite(.timeLimit(.minutes(20)))
struct FailingCallTests {
  /// Each call fails with one of these, by its position.
  private static let libraryFaults: [CallScript.Fault] = [
    .code(MDB_MAP_FULL), .code(ENOSPC), .code(ENOMEM), .code(EIO), .code(MDB_READERS_FULL),
    .code(MDB_MAP_RESIZED), .code(MDB_CORRUPTED),
  ]
  private static let systemFaults: [CallScript.Fault] = [
    .code(ENOSPC), .code(EIO), .shortWrite,
  ]

  @Test(arguments: StoreOperation.allCases)
  func `a failing LMDB call is an error and leaves the store intact`(
    operation: StoreOperation
  ) throws {
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
