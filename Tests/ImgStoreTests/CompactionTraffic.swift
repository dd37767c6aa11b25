import Dispatch
import FoundationEssentials
import Glibc
import ImgModel
import Synchronization

@testable import ImgStore

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
