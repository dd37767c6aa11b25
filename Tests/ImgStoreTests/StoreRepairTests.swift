import FoundationEssentials
import Glibc
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// A writer recreates a damaged store, because it is a cache. A reader gets an error.
@Suite(.timeLimit(.minutes(20))) struct StoreRepairTests {
  private static let writing = ThumbnailStore.Access.readWrite(budgetByteCount: 64 << 20)

  private let directory = TestDirectory()
  private var path: String { directory.path + "/store" }
  private let events = Events()

  private func open(_ access: ThumbnailStore.Access = Self.writing) throws -> SharedStore {
    try SharedStore(directory: path, access: access, report: events.add)
  }

  /// About 1.2 MB.
  private func fill(_ store: SharedStore) throws {
    let thumbnails = try (0..<100).map { try NewThumbnail(large: $0, byteCount: 10_000) }
    try store.change { store throws(StoreError) in try store.put(thumbnails, at: .now) }
  }

  private func put(_ number: Int, in store: SharedStore) throws {
    let new = try NewThumbnail(picture: number)
    try store.change { store throws(StoreError) in try store.put([new], at: .now) }
  }

  private func cut(to byteCount: Int) {
    #expect(unsafe truncate(path + "/data.mdb", byteCount) == 0)
  }

  /// Overwrites everything behind the two pages at the start of the file with zeros.
  private func eraseTables() throws {
    let byteCount = try Data(contentsOf: URL(filePath: path + "/data.mdb")).count
    cut(to: 8_192)
    cut(to: byteCount)
  }

  private func expectBegunAnew(_ store: SharedStore) throws {
    #expect(events.all.count == 1)
    #expect(events.all.first?.description.hasPrefix("the store in \(path) was damaged") == true)
    try put(1, in: store)
    #expect(try store.current().bytes(ofPicture: 1) != nil)
    #expect(try store.current().statistics(at: .now).recordCount == 1)
    #expect(events.all.count == 1)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    #expect(names == ["store", "store.lock"])
  }

  @Test(arguments: [8_192, 64 << 10, 5_000, 100])
  func `a writer recreates a store with a truncated file`(byteCount: Int) throws {
    do { try fill(open()) }
    cut(to: byteCount)
    try expectBegunAnew(open())
  }

  @Test func `a writer recreates a store with a junk file`() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try Data(repeating: 0x55, count: 16_384).write(to: URL(filePath: path + "/data.mdb"))
    #expect(throws: StoreError.self) { try open(.readOnly) }
    #expect(events.all.isEmpty)
    try expectBegunAnew(open())
  }

  @Test(arguments: [0, 4_096, 64 << 10])
  func `a writer recreates a store that is truncated while open`(byteCount: Int) throws {
    let store = try open()
    try fill(store)
    cut(to: byteCount)
    #expect(try store.current().bytes(ofPicture: 50) == nil)
    try expectBegunAnew(store)
  }

  @Test func `a reader of a truncated file gets an error, then the new store`() throws {
    let writer = try open()
    try fill(writer)
    // As another process would: two environments of one process do not share their locks.
    let copy = directory.path + "/read"
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let reader = try SharedStore(directory: copy, access: .readOnly)
    #expect(try reader.current().bytes(ofPicture: 50) != nil)
    #expect(unsafe truncate(copy + "/data.mdb", 64 << 10) == 0)
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try reader.current() }
      #expect(error?.reason == .damaged)
      #expect(error?.path == copy)
    }
    try FileManager.default.removeItem(atPath: copy)
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    #expect(try reader.current().bytes(ofPicture: 50) != nil)
  }

  /// The new store would open the lock file that the old one has open, and to close either would
  /// drop the locks of both.
  @Test func `a store without its data file is recreated when the old one is not in use`() throws {
    let store = try open()
    try fill(store)
    try withExtendedLifetime(store.current()) {
      #expect(unsafe unlink(path + "/data.mdb") == 0)
      for _ in 0..<2 {
        let error = #expect(throws: StoreError.self) { try store.current() }
        #expect(error?.code == .panic)
      }
    }
    try put(1, in: store)
    #expect(try store.current().statistics(at: .now).recordCount == 1)
    #expect(events.all.isEmpty)
  }

  @Test func `files that were checked since a moment are not checked again`() throws {
    let store = try open()
    let moment = ContinuousClock.now
    let first = try store.current(checkedSince: moment)
    try FileManager.default.removeItem(atPath: path)
    #expect(try store.current(checkedSince: moment) === first)
    let second = try store.current(checkedSince: .now)
    #expect(second !== first)
    #expect(try store.current(checkedSince: moment) === second)
  }

  @Test func `a writer that finds damaged tables recreates the store`() throws {
    let store = try open()
    try fill(store)
    try eraseTables()
    #expect(events.all.isEmpty)
    try put(2, in: store)
    #expect(try store.current().bytes(ofPicture: 2) != nil)
    #expect(try store.change { store throws(StoreError) in try store.remove([]) } == 0)
    let key = try ContentKey(picture: 2)
    #expect(try store.change { store throws(StoreError) in try store.remove([key]) } == 1)
    try expectBegunAnew(store)
  }

  /// LMDB leaves pages unwritten that a transaction took from the end of the file and gave back; a
  /// writer that is killed after its commit has not yet made up for that.
  @Test(arguments: [false, true])
  func `a file that lacks only free pages is completed without loss`(isOpen: Bool) throws {
    var store: SharedStore? = try open()
    try grow(try #require(store))
    let byteCount = try #require(try store?.current().environment.dataFile.pagesByteCount())
    if !isOpen { store = nil }
    cut(to: byteCount - 1_000 * 4_096)
    let same = try store ?? open()
    #expect(try same.current().bytes(ofPicture: 1) != nil)
    #expect(try same.current().environment.dataFile.byteCount() == byteCount)
    #expect(events.all.isEmpty)
  }

  @Test func `a file that lacks pages in use is damaged, although all tables are there`() throws {
    let byteCount: Int
    do {
      let store = try open()
      try grow(store, isRemoved: false)
      byteCount = try store.current().environment.dataFile.pagesByteCount()
    }
    cut(to: byteCount - 1_000 * 4_096)
    let store = try open()
    #expect(events.all.first?.description.contains("lacks 4096000 bytes: ENODATA") == true)
    try expectBegunAnew(store)
  }

  /// A process that saw the file longer for a moment would read behind its end: SIGBUS.
  @Test func `a writer that refuses a truncated file leaves its length meanwhile`() throws {
    do { try fill(open()) }
    cut(to: 64 << 10)
    let file = path + "/data.mdb"
    let longAgo = Date(timeIntervalSince1970: 1_000)
    try FileManager.default.setAttributes([.modificationDate: longAgo], ofItemAtPath: file)
    let error = #expect(throws: StoreError.self) {
      try ThumbnailStore(directory: path, access: Self.writing)
    }
    #expect(error?.reason == .damaged)
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    #expect(attributes[.modificationDate] as? Date == longAgo)
  }

  /// Puts a picture of more than 1,000 pages at the end of the file, and removes it or not; the
  /// commits after that move what came behind it to free pages before it.
  private func grow(_ store: SharedStore, isRemoved: Bool = true) throws {
    for number in 10..<40 { try put(number, in: store) }
    let large = try NewThumbnail(large: 200, byteCount: 8 << 20)
    try store.change { store throws(StoreError) in
      try store.put([large], at: .now)
      if isRemoved { _ = try store.remove([large.key]) }
    }
    for _ in 0..<10 { try put(1, in: store) }
  }

  @Test func `a store of a newer release, or of a newer LMDB, is refused and stays`() throws {
    do {
      let store = try open()
      try fill(store)
      try store.current().environment.write { transaction throws(StoreError) in
        let meta = try transaction.openDatabase("meta", isCreated: false)
        try transaction.put([99, 0, 0, 0], for: Array("schema".utf8), in: meta)
      }
    }
    let file = URL(filePath: path + "/data.mdb")
    var bytes = try Data(contentsOf: file)
    for access in [Self.writing, .readOnly] {
      let error = #expect(throws: StoreError.self) { try open(access) }
      #expect(error?.reason == .newerVersion)
      #expect(error?.description.contains("newer release") == true)
    }
    // The version in both pages at the start: behind a header of 16 bytes and the magic number.
    for page in [0, 4_096] { bytes[page + 20] = 99 }
    try bytes.write(to: file)
    for access in [Self.writing, .readOnly] {
      let error = #expect(throws: StoreError.self) { try open(access) }
      #expect(error?.reason == .newerVersion)
    }
    #expect(try Data(contentsOf: file) == bytes)
    #expect(events.all.isEmpty)
  }

  @Test func `dropping the thumbnails of an older release is reported once`() throws {
    do {
      let store = try open()
      try fill(store)
      try store.current().environment.write { transaction throws(StoreError) in
        let meta = try transaction.openDatabase("meta", isCreated: false)
        try transaction.put([1, 0, 0, 0], for: Array("schema".utf8), in: meta)
      }
    }
    do { _ = try open() }
    #expect(events.all == [.droppedSchema(1, directory: path)])
    do { _ = try open() }
    #expect(events.all.count == 1)
  }

  @Test func `only one of several processes recreates a damaged store`() async throws {
    do { try fill(open()) }
    cut(to: 64 << 10)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask { [path] in
          await #expect(processExitsWith: .success) {
            [path = path as String, number = number as Int] in
            let store = try SharedStore(
              directory: path, access: .readWrite(budgetByteCount: 64 << 20))
            let new = try NewThumbnail(picture: number)
            try store.change { store throws(StoreError) in try store.put([new], at: .now) }
          }
        }
      }
      try await group.waitForAll()
    }
    let store = try open()
    for number in 0..<4 { #expect(try store.current().bytes(ofPicture: number) != nil) }
    #expect(events.all.isEmpty)
  }

  @Test func `the next writer removes leftovers of a killed process`() throws {
    do { try fill(open()) }
    let spare = path + ".spare"
    try FileManager.default.createDirectory(atPath: spare, withIntermediateDirectories: false)
    try Data(count: 10).write(to: URL(filePath: spare + "/data.mdb"))
    do { _ = try open(.readOnly) }
    #expect(FileManager.default.fileExists(atPath: spare))
    _ = try open()
    #expect(!FileManager.default.fileExists(atPath: spare))
    #expect(events.all.isEmpty)
  }
}

/// Data files that were truncated, overwritten or removed.
@Suite(.timeLimit(.minutes(20))) struct DamagedFileTests {
  private let directory = TestDirectory()
  private var path: String { directory.path + "/store" }

  @Test(arguments: [false, true])
  func `a store with a truncated file is refused with advice`(isRead: Bool) throws {
    do { try fill(ThumbnailStore(directory)) }
    #expect(unsafe truncate(path + "/data.mdb", 64 << 10) == 0)
    let error = #expect(throws: StoreError.self) {
      try ThumbnailStore(
        directory: path, access: isRead ? .readOnly : .readWrite(budgetByteCount: 64 << 20))
    }
    #expect(error?.reason == .damaged)
    #expect(
      error?.description.contains("remove \(path), and requests make its thumbnails again") == true)
  }

  @Test func `a journal with a truncated or junk file is refused with advice`() throws {
    let id = JobID(rawValue: 1)
    do {
      let journal = try Journal(directory: path)
      let record = JobRecord(id: id, options: RequestOptions(variant: .standard), submittedAt: .now)
      let lines = (0..<10_000).map { "https://example.org/\($0).jpg" }
      try journal.apply([.createJob(record), .appendURLs(id, ListLines(lines)), .seal(id)])
    }
    #expect(unsafe truncate(path + "/data.mdb", 64 << 10) == 0)
    try expectDamagedJournal(in: path)
    let junk = directory.path + "/junk journal"
    try writeJunk(to: junk)
    try expectDamagedJournal(in: junk)
  }

  /// LMDB leaves pages unwritten that a transaction took from the end of the file and gave back.
  @Test func `an intact store does not count as truncated`() throws {
    do {
      let store = try ThumbnailStore(directory)
      try fill(store)
      _ = try store.remove((0..<100).filter { $0 % 2 == 0 }.map { try ContentKey(picture: $0) })
      for number in 200..<210 {
        // The second of a key takes the place of the first before the commit.
        try store.put(
          [
            NewThumbnail(picture: number, byteCount: 1 << 20),
            NewThumbnail(picture: number, byteCount: 100),
          ], at: .now)
      }
    }
    let reader = try ThumbnailStore(directory: path, access: .readOnly)
    #expect(try reader.bytes(ofPicture: 209)?.count == 100)
  }

  @Test(arguments: [false, true])
  func `a shared store goes on when its directory is removed or replaced`(isReplaced: Bool) throws {
    let shared = try SharedStore(directory: path, access: .readWrite(budgetByteCount: 64 << 20))
    try shared.current().put([NewThumbnail(picture: 1)], at: .now)
    try FileManager.default.removeItem(atPath: path)
    if isReplaced { _ = try ThumbnailStore(directory) }
    try shared.current().put([NewThumbnail(picture: 2)], at: .now)
    let same = try shared.current()
    #expect(try same === shared.current())
    let reader = try ThumbnailStore(directory: path, access: .readOnly)
    #expect(try reader.bytes(ofPicture: 1) == nil)
    #expect(try reader.bytes(ofPicture: 2) != nil)
  }

  /// More than 64 KiB.
  private func fill(_ store: ThumbnailStore) throws {
    try store.put((0..<100).map { try NewThumbnail(picture: $0, byteCount: 10_000) }, at: .now)
  }

  private func writeJunk(to path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try Data(repeating: 0x55, count: 16_384).write(to: URL(filePath: path + "/data.mdb"))
  }

  private func expectDamagedJournal(in path: String) throws {
    let error = #expect(throws: StoreError.self) { try Journal(directory: path) }
    #expect(error?.reason == .damaged)
    let advice = "the journal in \(path) is damaged; run imgctl recover \(path.shellWord) DIR"
    #expect(error?.description.contains(advice) == true)
    #expect(error?.description.contains("submit the lists again") == true)
  }
}
