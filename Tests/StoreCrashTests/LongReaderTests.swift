import Glibc
import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

/// What a reader costs that does not end: it keeps what was freed since it began from being reused,
/// and nothing else, and that only while it lives.
@Suite(.timeLimit(.minutes(20)))
struct LongReaderTests {
  private static let pictureCount = 50
  private static let pictureByteCount = 8_000
  private static let cycleCount = 20
  /// Pages of a cycle's records, indexes and free lists, over the bytes of its pictures.
  private static let overhead = 2.0

  @Test(arguments: [false, true])
  func `the file grows during a long read and is reused afterwards`(
    isKilled: Bool
  ) throws {
    let directory = try TestDirectory()
    let store = try PictureStore(directory: directory.file("store"), budgetByteCount: 64 << 20)
    let kept = Picture(number: Self.pictureCount, generation: 1, byteCount: 5_000)
    try store.put([kept], at: 0)
    let baseline = try churn(store)
    #expect(try churn(store) == baseline)

    let reader = try StoreChild("serve", directory.file("store"), "\(64 << 20)")
    try reader.hold(kept.number)
    let grown = try churn(store)
    let writtenByteCount = Double(Self.cycleCount * Self.pictureCount * Self.pictureByteCount)
    #expect(grown > baseline)
    #expect(Double(grown - baseline) <= Self.overhead * writtenByteCount)

    if isKilled {
      _ = try reader.kill()
      #expect(try store.clearDeadReaders() == 1)
    } else {
      try reader.release()
    }
    #expect(try churn(store) == grown)
    #expect(try churn(store) == grown)
    #expect(try store.defects() == [])
    print(
      "long reader: \(baseline) bytes of file without, \(grown) with one while "
        + "\(Int(writtenByteCount)) bytes of pictures were replaced, and no more afterwards")
  }

  @Test(arguments: [false, true])
  func `a stopped reader does not grow the file beyond its limit`(
    isStopped: Bool
  ) throws {
    let budgetByteCount: Int64 = 10 << 20
    let directory = try TestDirectory()
    let store = try PictureStore(
      directory: directory.file("store"), budgetByteCount: budgetByteCount)
    try store.put([Picture(number: 0, generation: 1, byteCount: 5_000)], at: 0)
    let reader = try StoreChild("serve", directory.file("store"), "\(budgetByteCount)")
    try reader.hold(0)
    if isStopped { reader.signal(SIGSTOP) }

    // Six budgets.
    var number = 0
    for _ in 0..<60 {
      let next = number..<number + 50
      number = next.upperBound
      try store.put(next.map { Picture(number: $0, generation: 1, byteCount: 20_000) }, at: 0)
    }
    let file = try store.figures().fileByteCount
    #expect(file <= budgetByteCount / 2 * 3 + 1 << 20)

    // It ends its read, and then reads what is there now.
    if isStopped { reader.signal(SIGCONT) }
    try reader.release()
    let answer = try reader.take(StoreStep(.look([number - 1]), at: 0))
    #expect(answer.found.map(\.number) == [number - 1])
    #expect(try store.defects() == [])
  }

  /// Replaces all pictures, again and again.
  ///
  /// - Returns: the length of the file.
  private func churn(_ store: PictureStore) throws -> Int64 {
    for generation in 0..<Self.cycleCount {
      try store.put(
        (0..<Self.pictureCount).map {
          Picture(number: $0, generation: generation, byteCount: Self.pictureByteCount)
        }, at: 0)
    }
    return try store.figures().fileByteCount
  }
}
