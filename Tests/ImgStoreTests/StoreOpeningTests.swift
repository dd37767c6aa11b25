import Dispatch
import FoundationEssentials
import Glibc
import ImgModel
import ImgSystem
import Synchronization
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20))) struct StoreOpeningTests {
  private let directory = TestDirectory()

  @Test func `opening a missing store for reading reports that it is absent`() throws {
    let error = #expect(throws: StoreError.self) {
      try ThumbnailStore(directory: directory.path + "/none", access: .readOnly)
    }
    #expect(error?.reason == .absent)
    #expect(error?.description.contains("ENOENT") == true)
    // An environment without tables is what another process sees while the first one creates it.
    let created = Environment.Options(content: .thumbnails)
    _ = try Environment(directory: directory.path, options: created)
    let incomplete = #expect(throws: StoreError.self) {
      try ThumbnailStore(directory: directory.path, access: .readOnly)
    }
    #expect(incomplete?.reason == .absent)
  }

  @Test func `a store is created with its parents, for its user alone`() throws {
    let path = directory.path + "/a/b/store"
    let store = try ThumbnailStore(directory: path, access: .readWrite(budgetByteCount: 1 << 20))
    try store.put([NewThumbnail(picture: 1, byteCount: 10)], at: .now)
    #expect(try permissions(of: path) == 0o700)
    #expect(try permissions(of: directory.path + "/a") == 0o700)
    #expect(try permissions(of: path + "/data.mdb") == 0o600)
    #expect(try permissions(of: path + "/lock.mdb") == 0o600)
    #expect(try permissions(of: path + "/access") == 0o600)
  }

  @Test func `thumbnails survive reopening the store`() throws {
    do {
      let store = try ThumbnailStore(directory)
      try store.put([NewThumbnail(picture: 1)], at: .now)
    }
    let store = try ThumbnailStore(directory: directory.path + "/store", access: .readOnly)
    #expect(try store.bytes(ofPicture: 1) != nil)
    #expect(try store.size().budgetByteCount == 64 << 20)
    #expect(try store.statistics(at: .now).mapByteCount == 1 << 30)
  }

  @Test func `a store is closed while it may be opened for another access`() throws {
    do { try ThumbnailStore(directory).put([NewThumbnail(picture: 1)], at: .now) }
    let reader = try SharedStore(directory: directory.path + "/store", access: .readOnly)
    weak let opened = try reader.current()
    #expect(opened != nil)
    try reader.whileClosed { #expect(opened == nil) }
    #expect(try reader.current().bytes(ofPicture: 1) != nil)
  }

  @Test func `a store is written while its readers wait, and is read afterwards`() async throws {
    let path = directory.path + "/store"
    do { try ThumbnailStore(directory).put([NewThumbnail(picture: 1)], at: .now) }
    let reader = try SharedStore(directory: path, access: .readOnly)
    let second = try NewThumbnail(picture: 2)
    let isDone = Atomic(false)
    let inUse = try reader.current()
    async let reads = onThread {
      var count = 0
      while !isDone.load(ordering: .relaxed) {
        if try reader.current().bytes(ofPicture: 1) != nil { count += 1 }
      }
      return count
    }
    async let written: Void = onThread {
      try reader.whileClosed {
        let writer = try SharedStore(directory: path, access: .readWrite(budgetByteCount: 64 << 20))
        try writer.change { store throws(StoreError) in
          _ = try store.put([second], at: .now)
        }
      }
    }
    #expect(try inUse.bytes(ofPicture: 1) != nil)
    _ = consume inUse
    try await written
    isDone.store(true, ordering: .relaxed)
    _ = try await reads
    #expect(try reader.current().bytes(ofPicture: 2) != nil)
  }

  @Test func `a store opened for reading refuses every change`() throws {
    do { _ = try ThumbnailStore(directory) }
    let store = try ThumbnailStore(directory: directory.path + "/store", access: .readOnly)
    let key = try ContentKey(picture: 1)
    let new = try NewThumbnail(picture: 1)
    for change in [
      { _ = try store.put([new], at: .now) },
      { _ = try store.remove([key]) },
      { _ = try store.removeExpired(at: .now, limit: 1) },
      { try store.reset() },
    ] {
      let error = #expect(throws: StoreError.self) { try change() }
      #expect(error?.reason == .notPermitted)
      #expect(error?.path == directory.path + "/store")
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5] as [UInt8])
  func `an older store is absent to readers, and replaced by a writer`(schema: UInt8) throws {
    let path = directory.path + "/store"
    do {
      let store = try ThumbnailStore(directory)
      #expect(store.replacedSchema == nil)
      try store.put([NewThumbnail(picture: 1)], at: .now)
      try store.environment.write { transaction throws(StoreError) in
        let meta = try transaction.openDatabase("meta", isCreated: false)
        try transaction.put([schema, 0, 0, 0], for: Array("schema".utf8), in: meta)
      }
    }
    let error = #expect(throws: StoreError.self) {
      try ThumbnailStore(directory: path, access: .readOnly)
    }
    #expect(error?.reason == .absent)
    do {
      let store = try ThumbnailStore(directory)
      #expect(store.replacedSchema == UInt32(schema))
      #expect(try store.statistics(at: .now).recordCount == 0)
      try store.put([NewThumbnail(picture: 2)], at: .now)
    }
    let store = try ThumbnailStore(directory)
    #expect(store.replacedSchema == nil)
    #expect(try store.bytes(ofPicture: 2) != nil)
  }

  @Test func `a directory that cannot be created is named in the error`() throws {
    try Data("a file".utf8).write(to: URL(filePath: directory.path + "/store"))
    let error = #expect(throws: StoreError.self) { try ThumbnailStore(directory) }
    #expect(error?.path == directory.path + "/store")
    #expect(error?.description.contains("ENOTDIR") == true)
  }

  @Test func `an error of the journal names the journal`() throws {
    try Data("a file".utf8).write(to: URL(filePath: directory.path + "/file"))
    for path in [directory.path + "/file", directory.path + "/file/journal"] {
      let error = #expect(throws: StoreError.self) { try Journal(directory: path) }
      #expect(error?.description.hasPrefix("the journal in \(path) failed") == true)
    }
  }

  @Test func `opening a store with nothing to write does not wait for a writer`() async throws {
    let store = try ThumbnailStore(directory)
    let (isWriting, isOpened) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    async let writer: Void = onThread {
      try store.environment.write { _ throws(StoreError) in
        isWriting.signal()
        isOpened.wait()
      }
    }
    try await onThread { isWriting.wait() }
    await #expect(processExitsWith: .success) { [path = store.environment.directory as String] in
      _ = try ThumbnailStore(directory: path, access: .readWrite(budgetByteCount: 64 << 20))
    }
    isOpened.signal()
    try await writer
  }

  /// One of the two stores has made one commit more than the other, so that a process with the data
  /// of one and the locks of the other would look for the last commit where the one before it is.
  @Test func `all files of an opening are of one directory, even if it is replaced`() async throws {
    let paths = [directory.path + "/store", directory.path + "/other"]
    // Open all the time, because opening a store that no process has open recreates its locks.
    let stores = try paths.map { path in
      try ThumbnailStore(directory: path, access: .readWrite(budgetByteCount: 64 << 20))
    }
    try stores[0].put([NewThumbnail(picture: 1)], at: .now)
    for store in stores { try store.put([NewThumbnail(picture: 2)], at: .now) }
    let isDone = Atomic(false)
    async let exchanges: Void = onThread {
      while !isDone.load(ordering: .relaxed) {
        try Directory.exchange(paths[0], with: paths[1])
      }
    }
    await #expect(processExitsWith: .success) { [path = paths[0] as String] in
      let key = try ContentKey(picture: 2)
      for _ in 0..<2_000 {
        do throws(StoreError) {
          let store = try ThumbnailStore(directory: path, access: .readOnly)
          guard try store.lookup(key, at: .now) != .miss else { _exit(1) }
        } catch {
          // More often than an opening tries again.
          guard error.reason == .replaced else { _exit(2) }
        }
      }
    }
    isDone.store(true, ordering: .relaxed)
    try await exchanges
  }

  @Test func `a store whose lock file was removed is detached`() throws {
    let store = try ThumbnailStore(directory)
    #expect(unsafe unlink(store.environment.directory + "/lock.mdb") == 0)
    #expect(store.isDetached)
    let error = #expect(throws: StoreError.self) { try store.reset() }
    #expect(error?.reason == .replaced)
  }

  @Test(.enabled(if: geteuid() != 0, "root may write anywhere"))
  func `an unwritable directory is reported as not permitted`() throws {
    #expect(unsafe chmod(directory.path, 0o500) == 0)
    let error = #expect(throws: StoreError.self) { try ThumbnailStore(directory) }
    #expect(error?.reason == .notPermitted)
  }

  @Test func `a store detects that its directory was removed or replaced`() throws {
    let store = try ThumbnailStore(directory)
    #expect(!store.isDetached)
    try FileManager.default.removeItem(atPath: directory.path + "/store")
    #expect(store.isDetached)
    let successor = try ThumbnailStore(directory)
    #expect(store.isDetached)
    #expect(!successor.isDetached)
    try successor.put([NewThumbnail(picture: 1)], at: .now)
    #expect(try successor.bytes(ofPicture: 1) != nil)
  }

  @Test(arguments: [
    (StoreError.Code.mapFull, StoreError.Reason.full), (.noSpace, .full), (.quotaExceeded, .full),
    (.readOnlyFileSystem, .notPermitted), (.accessDenied, .notPermitted),
    (.readersFull, .tooManyReaders), (.corrupted, .damaged), (.invalid, .damaged),
    (.truncated, .damaged),
    (.versionMismatch, .newerVersion), (.noSuchFile, .absent), (.keyExists, .failed),
  ])
  func `each code has a reason and its name`(code: StoreError.Code, reason: StoreError.Reason) {
    let error = StoreError(code, operation: "mdb_put", path: "/x")
    #expect(error.reason == reason)
    #expect(error.isFull == (reason == .full))
    #expect(error.description.contains("/x"))
    #expect(error.description.contains("mdb_put: \(code.name)"))
    #expect(!code.name.hasPrefix("errno "))
  }

  private func permissions(of path: String) throws -> mode_t {
    var information = stat()
    try #require(unsafe stat(path, &information) == 0)
    return information.st_mode & 0o777
  }
}

/// The files of a release that had the store where now the directory around it is.
struct EarlierStoreTests {
  private let directory = TestDirectory()
  private var place: String { directory.file("store") }
  private var path: String { "\(place)/thumbnails" }

  /// A store with a picture, where an earlier release had it.
  private func makeEarlierStore() throws {
    let store = try ThumbnailStore(directory)
    try store.put([NewThumbnail(picture: 1)], at: .now)
  }

  private func bytesOfPicture() throws -> [UInt8]? {
    try ThumbnailStore(directory: path, access: .readOnly).bytes(ofPicture: 1)
  }

  @Test(arguments: [false, true])
  func `the store is moved, also across disks, and the rest removed`(isLink: Bool) throws {
    if isLink {
      try FileManager.default.createDirectory(
        atPath: directory.file("disk"), withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: "disk")
    }
    try makeEarlierStore()
    let resolved = try Directory.resolve(place)
    try Directory.create(resolved + ".spare")
    _ = try FileIO.create(resolved + ".lock")
    // What a move that was interrupted has moved already.
    try Directory.create(path)
    try Directory.move("\(place)/access", to: "\(path)/access")

    #expect(EarlierStore.move(to: path)?.hasSuffix("was moved to \(path)") == true)
    #expect(try bytesOfPicture() == NewThumbnail(picture: 1).bytes)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place) == ["thumbnails"])
    #expect(directory.names() == (isLink ? ["disk", "store"] : ["store"]))
    #expect(EarlierStore.move(to: path) == nil)
  }

  @Test func `a store that is in use already stays, and the earlier one takes no space`() throws {
    try makeEarlierStore()
    do {
      let store = try ThumbnailStore(directory: path, access: .readWrite(budgetByteCount: 1 << 20))
      try store.put([NewThumbnail(picture: 2)], at: .now)
    }
    #expect(EarlierStore.move(to: path)?.contains("was removed") == true)
    #expect(try bytesOfPicture() == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place) == ["thumbnails"])
  }

  @Test func `a store that cannot be moved is named, with the reason`() throws {
    try makeEarlierStore()
    _ = try FileIO.create(path)
    let remark = try #require(EarlierStore.move(to: path))
    #expect(remark.contains("takes disk space and is not used"))
    #expect(remark.contains("ENOTDIR"))
  }
}

/// A store's directory that another user could have prepared.
struct UnsafeDirectoryTests {
  private static let victimBytes = Array("a file that is not the store's\n".utf8)
  private let directory = TestDirectory()
  private var path: String { directory.path + "/store" }

  init() throws {
    _ = try ThumbnailStore(directory)
  }

  private func expectRefused(
    _ access: ThumbnailStore.Access, because reason: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) {
      try ThumbnailStore(directory: path, access: access)
    }
    #expect(error?.reason == .notPermitted, sourceLocation: sourceLocation)
    #expect(error?.description.contains(reason) == true, sourceLocation: sourceLocation)
  }

  private static let accesses: [ThumbnailStore.Access] = [
    .readOnly, .readWrite(budgetByteCount: 1 << 20),
  ]

  @Test(arguments: ["data.mdb", "lock.mdb"], Self.accesses)
  func `a symbolic link as a file of the store is refused, and its target stays`(
    name: String, access: ThumbnailStore.Access
  ) throws {
    let victim = directory.path + "/victim"
    try FileIO.replace(path: victim, with: Self.victimBytes)
    #expect(unsafe unlink("\(path)/\(name)") == 0)
    #expect(unsafe symlink(victim, "\(path)/\(name)") == 0)
    expectRefused(access, because: "open \(path)/\(name), which is not a regular file")
    #expect(try FileIO.contents(of: victim, upTo: 1_000) == Self.victimBytes)
  }

  @Test(arguments: Self.accesses)
  func `a directory that other users can write is refused`(access: ThumbnailStore.Access) throws {
    #expect(unsafe chmod(path, 0o777) == 0)
    expectRefused(access, because: "run chmod go-w \(path)")
    #expect(unsafe chmod(path, 0o700) == 0)
    #expect(unsafe chmod(directory.path, 0o777) == 0)
    expectRefused(access, because: "run chmod go-w \(directory.path)")
  }
}
