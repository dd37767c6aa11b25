import Dispatch
import FoundationEssentials
import Glibc
import ImgModel
import Synchronization
import TestFiles
import Testing

@testable import ImgStore

/// Copies without free pages that take a store's place.
@Suite(.timeLimit(.minutes(20))) struct CompactionTests {
  private let directory = TestDirectory()
  private let path: String
  private let shared: SharedStore

  init() throws {
    path = directory.path + "/store"
    shared = try SharedStore(directory: path, access: CompactionTraffic.access)
  }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  private func put(_ numbers: Range<Int>, byteCount: Int = 10_000) throws {
    let thumbnails = try numbers.map { try NewThumbnail(large: $0, byteCount: byteCount) }
    try shared.change { store throws(StoreError) in try store.put(thumbnails, at: .now) }
  }

  private func remove(_ numbers: Range<Int>) throws {
    let keys = try numbers.map { try ContentKey(picture: $0) }
    _ = try shared.change { store throws(StoreError) in try store.remove(keys) }
  }

  @Test func `a compacted store has the same content and counters in a smaller file`() throws {
    try put(0..<600)
    try remove(100..<600)
    #expect(try shared.current().bytes(ofPicture: 7)?.count == 10_000)
    #expect(unsafe chmod(path, 0o750) == 0)
    #expect(unsafe chmod(path + "/data.mdb", 0o640) == 0)
    let old = try shared.current()
    let before = try old.statistics(at: .now)

    let compaction = try shared.compact()
    #expect(old.isDetached)
    let after = try shared.current().statistics(at: .now)
    #expect(compaction.byteCountBefore == before.fileByteCount)
    #expect(compaction.byteCountAfter == after.fileByteCount)
    #expect(after.fileByteCount < before.fileByteCount / 3)
    // Those that the copy's own commits leave.
    #expect(after.freePageCount < 20)
    #expect(
      try shared.current().size()
        == CacheSize(
          recordCount: 100, occupiedByteCount: after.occupiedByteCount,
          budgetByteCount: 512 << 20, diskByteCount: after.diskByteCount))
    #expect(after.counters == before.counters)
    #expect(after.mapByteCount == before.mapByteCount)
    for number in 0..<100 {
      #expect(try shared.current().bytes(ofPicture: number)?.count == 10_000)
    }
    #expect(try shared.verify(isRepairing: false) { Issue.record("\($0)") } == 100)
    #expect(try names == ["store", "store.lock"])
    var status = stat()
    #expect(unsafe stat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o750)
    #expect(unsafe stat(path + "/data.mdb", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o640)
  }

  @Test func `a reset frees the disk space and keeps the counters`() throws {
    try put(0..<100)
    let before = try shared.current().statistics(at: .now)
    try shared.reset()
    let after = try shared.current().statistics(at: .now)
    #expect(after.recordCount == 0)
    #expect(after.budgetByteCount == before.budgetByteCount)
    #expect(after.fileByteCount < before.fileByteCount / 3)
    #expect(after.counters == before.counters)
    #expect(try names == ["store", "store.lock"])
    try put(0..<1)
    #expect(try shared.current().bytes(ofPicture: 0) != nil)
  }

  @Test func `an empty store is compacted, too, and again`() throws {
    for _ in 0..<3 { _ = try shared.compact() }
    try put(0..<1)
    _ = try shared.compact()
    #expect(try shared.current().bytes(ofPicture: 0) != nil)
  }

  @Test func `a store behind a symbolic link stays in its place`() async throws {
    let link = directory.path + "/link"
    #expect(unsafe symlink(path, link) == 0)
    try put(0..<3)
    await #expect(processExitsWith: .success) { [link = link as String] in
      let linked = try SharedStore(directory: link, access: CompactionTraffic.access)
      _ = try linked.compact()
      _exit(try linked.current().bytes(ofPicture: 2) == nil ? 1 : 0)
    }
    #expect(try names == ["link", "store", "store.lock"])
    #expect(try shared.current().bytes(ofPicture: 2) != nil)
  }

  @Test func `a reader cannot compact`() throws {
    let error = try #require(throws: StoreError.self) {
      try SharedStore(directory: path, access: .readOnly).compact()
    }
    #expect(error.reason == .notPermitted)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
  func `another user's store is not replaced`() throws {
    #expect(unsafe chown(path, 65_534, 65_534) == 0)
    let error = try #require(throws: StoreError.self) { try shared.compact() }
    #expect(error.reason == .notPermitted)
    #expect(error.path == path)
    #expect(try names == ["store"])
  }

  @Test func `releasing a replaced store closes its files`() async throws {
    try put(0..<1)
    shared.releaseIfDetached()
    #expect(!shared.takeReplacement())
    weak let old = try shared.current()
    #expect(old != nil)
    await #expect(processExitsWith: .success) { [path = path as String] in
      _ = try SharedStore(directory: path, access: CompactionTraffic.access).compact()
    }
    #expect(old?.isDetached == true)
    shared.releaseIfDetached()
    #expect(old == nil)
    #expect(shared.takeReplacement())
    #expect(!shared.takeReplacement(), "told once")
    #expect(try shared.current().bytes(ofPicture: 0) != nil)
  }

  @Test func `a comparison of two snapshots finds exactly the changes`() throws {
    try put(0..<300)
    let store = try shared.current()
    let table = store.tables.thumbnails
    var (changed, removed): (Set<[UInt8]>, Set<[UInt8]>) = ([], [])
    try store.environment.read { older throws(StoreError) in
      do throws(any Error) {
        // Of these, the first 50 are replaced by others of their name.
        try put(250..<320, byteCount: 9_000)
        try remove(10..<20)
      } catch {
        Issue.record(error)
      }
      try store.environment.read { newer throws(StoreError) in
        try newer.compare(
          table, with: older, changed: { key, _ in changed.insert(key.copy()) },
          removed: { key in removed.insert(key.copy()) })
      }
    }
    #expect(changed == Set(try (250..<320).map { try ContentKey(picture: $0).bytes }))
    #expect(removed == Set(try (10..<20).map { try ContentKey(picture: $0).bytes }))
  }

  /// Where a compaction is killed.
  enum Stage: String, CaseIterable, Codable {
    case begun, copied, exchanged
  }

  @Test(arguments: Stage.allCases)
  func `a compaction that is killed leaves the store old or compacted`(stage: Stage) async throws {
    let path = directory.path + "/killed"
    do {
      let store = try ThumbnailStore(directory: path, access: CompactionTraffic.access)
      try store.put((0..<300).map { try NewThumbnail(large: $0, byteCount: 10_000) }, at: .now)
    }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, stage = stage as Stage] in
      try CompactionTraffic.compactUntilKilled(path, at: stage)
    }
    let events = Events()
    let store = try SharedStore(
      directory: path, access: CompactionTraffic.access, report: events.add)
    for number in 0..<300 {
      #expect(try store.current().bytes(ofPicture: number)?.count == 10_000)
    }
    #expect(events.all.isEmpty)
    #expect(try !names.contains("killed.spare"))
    let new = try NewThumbnail(picture: 500)
    try store.change { store throws(StoreError) in try store.put([new], at: .now) }
    _ = try store.compact()
    #expect(try store.current().bytes(ofPicture: 500) != nil)
    #expect(try store.verify(isRepairing: false) { Issue.record("\($0)") } == 301)
  }

  @Test func `concurrent compactions lose no change and no read`() async throws {
    try put(CompactionTraffic.steadyPictures)
    let (path, shared) = (path, shared)
    async let writer = #expect(processExitsWith: .success) { [path = path as String] in
      try CompactionTraffic.write(
        SharedStore(directory: path, access: CompactionTraffic.access), as: 1)
    }
    async let reader = #expect(processExitsWith: .success) { [path = path as String] in
      try CompactionTraffic.read(path, as: 2)
    }
    async let thread: Void = onThread { [shared] in try CompactionTraffic.write(shared, as: 3) }
    try await onThread { [shared] in
      let haveAllBegun = try (1...3).allSatisfy { number in
        try eventually { try CompactionTraffic.hasBegun(number, in: shared) }
      }
      if haveAllBegun { for _ in 0..<12 { _ = try shared.compact() } }
      // Also when they have not, or they would go on for ever.
      try CompactionTraffic.stop(shared)
      #expect(haveAllBegun)
    }
    try await thread
    _ = await (writer, reader)
    #expect(try shared.verify(isRepairing: false) { Issue.record("\($0)") } > 0)
  }
}

/// What threads and processes do to a store while it is compacted. They tell each other what they
/// are at through pictures in it.
enum CompactionTraffic {
  /// There all the time.
  static let steadyPictures = 0..<200

  /// More than the traffic fills.
  static let access = ThumbnailStore.Access.readWrite(budgetByteCount: 512 << 20)

  private static let end = 1_000_000

  struct TrafficError: Error {
    let description: String
  }

  static func hasBegun(_ number: Int, in store: SharedStore) throws -> Bool {
    try store.current().bytes(ofPicture: end + number) != nil
  }

  private static func begin(_ number: Int, in store: SharedStore) throws {
    try put(end + number, in: store)
  }

  static func stop(_ store: SharedStore) throws {
    try put(end, in: store)
  }

  private static func isStopped(_ store: SharedStore) throws -> Bool {
    try store.current().bytes(ofPicture: end) != nil
  }

  private static func put(_ number: Int, in store: SharedStore) throws {
    let new = try NewThumbnail(picture: number, byteCount: 3_000)
    try store.change { store throws(StoreError) in try store.put([new], at: .now) }
  }

  private static func remove(_ number: Int, in store: SharedStore) throws {
    let key = try ContentKey(picture: number)
    let count = try store.change { store throws(StoreError) in try store.remove([key]) }
    guard count == 1 else { throw TrafficError(description: "picture \(number) was lost") }
  }

  /// Puts picture after picture, and removes every third again, until it is stopped. Each change is
  /// to be seen as soon as it is made, and at the end all of them.
  static func write(_ store: SharedStore, as number: Int) throws {
    try begin(number, in: store)
    var next = number * 100_000
    while try !isStopped(store) {
      try put(next, in: store)
      if next % 3 == 0 { try remove(next, in: store) }
      try check(next, in: store)
      next += 1
    }
    for picture in number * 100_000..<next { try check(picture, in: store) }
  }

  private static func check(_ number: Int, in store: SharedStore) throws {
    let isThere = try store.current().bytes(ofPicture: number) != nil
    guard isThere == (number % 3 != 0) else {
      throw TrafficError(description: "picture \(number) is \(isThere ? "back" : "lost")")
    }
  }

  /// Opens the store again and again, and finds everything in it each time, until it is stopped.
  static func read(_ path: String, as number: Int) throws {
    do { try begin(number, in: SharedStore(directory: path, access: access)) }
    var isStopped = false
    while !isStopped {
      let store = try SharedStore(directory: path, access: .readOnly)
      for picture in steadyPictures {
        guard try store.current().bytes(ofPicture: picture) != nil else {
          throw TrafficError(description: "picture \(picture) is missing")
        }
      }
      isStopped = try Self.isStopped(store)
    }
  }

  // MARK: - Killing

  /// Compacts the store over and over; another thread kills this process when it sees a compaction
  /// at the stage.
  static func compactUntilKilled(_ path: String, at stage: CompactionTests.Stage) throws {
    let store = try SharedStore(directory: path, access: access)
    let original = EnvironmentFiles(in: path)
    DispatchQueue(label: "killer").async {
      while !isReached(stage, path, original) { sched_yield() }
      kill(getpid(), SIGKILL)
    }
    while true { _ = try store.compact() }
  }

  private static func isReached(
    _ stage: CompactionTests.Stage, _ path: String, _ original: EnvironmentFiles
  ) -> Bool {
    switch stage {
    case .begun: byteCount(of: path + ".spare/data.mdb") > 1 << 16
    // The last step before the exchange, and there for a moment after it.
    case .copied: byteCount(of: path + ".spare/access") > 0
    case .exchanged: !EnvironmentFiles(in: path).areSame(as: original)
    }
  }

  private static func byteCount(of path: String) -> Int {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}

/// What a store reported.
final class Events: Sendable {
  private let events = Mutex<[StoreEvent]>([])

  var all: [StoreEvent] { events.withLock { $0 } }

  @Sendable func add(_ event: StoreEvent) {
    events.withLock { $0.append(event) }
  }
}
