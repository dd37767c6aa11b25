import FoundationEssentials
import Glibc
import ImgWire
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(5)))
struct StoreOpeningTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `reading where there is no store says that it is absent`() throws {
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
    #expect(try permissions(of: path + "/uses") == 0o600)
  }

  @Test func `what was put is there after the store was opened again`() throws {
    do {
      let store = try ThumbnailStore(directory)
      try store.put([NewThumbnail(picture: 1)], at: .now)
    }
    let store = try ThumbnailStore(
      directory: directory.path + "/store", access: .readOnly)
    #expect(try store.bytes(ofPicture: 1) != nil)
    #expect(try store.summary().budgetByteCount == 64 << 20)
    #expect(try store.statistics(at: .now).mapByteCount == 1 << 30)
  }

  @Test func `a store opened for reading refuses every change`() throws {
    do { _ = try ThumbnailStore(directory) }
    let store = try ThumbnailStore(directory: directory.path + "/store", access: .readOnly)
    let key = try ContentKey(picture: 1)
    let new = try NewThumbnail(picture: 1)
    for change in [
      { try store.put([new], at: .now) },
      { _ = try store.remove([key]) },
      { _ = try store.removeExpired(at: .now, limit: 1) },
      { try store.reset() },
    ] {
      let error = #expect(throws: StoreError.self) { try change() }
      #expect(error?.reason == .notPermitted)
      #expect(error?.path == directory.path + "/store")
    }
  }

  @Test func `a store of a newer release is refused with a sentence`() throws {
    do {
      let store = try ThumbnailStore(directory)
      try store.environment.write { transaction throws(StoreError) in
        let meta = try transaction.openDatabase("meta", isCreated: false)
        try transaction.put([3, 0, 0, 0], for: Array("schema".utf8), in: meta)
      }
    }
    for access in [ThumbnailStore.Access.readOnly, .readWrite(budgetByteCount: 1 << 20)] {
      let error = #expect(throws: StoreError.self) {
        try ThumbnailStore(directory: directory.path + "/store", access: access)
      }
      #expect(error?.reason == .newerVersion)
      #expect(error?.description.contains("newer release") == true)
    }
  }

  @Test func `a store of an older release is absent to readers, and replaced by a writer`() throws {
    let path = directory.path + "/store"
    do {
      let store = try ThumbnailStore(directory)
      #expect(store.replacedSchema == nil)
      try store.put([NewThumbnail(picture: 1)], at: .now)
      try store.environment.write { transaction throws(StoreError) in
        let meta = try transaction.openDatabase("meta", isCreated: false)
        try transaction.put([1, 0, 0, 0], for: Array("schema".utf8), in: meta)
      }
    }
    let error = #expect(throws: StoreError.self) {
      try ThumbnailStore(directory: path, access: .readOnly)
    }
    #expect(error?.reason == .absent)
    do {
      let store = try ThumbnailStore(directory)
      #expect(store.replacedSchema == 1)
      #expect(try store.statistics(at: .now).summary.entryCount == 0)
      try store.put([NewThumbnail(picture: 2)], at: .now)
    }
    let store = try ThumbnailStore(directory)
    #expect(store.replacedSchema == nil)
    #expect(try store.bytes(ofPicture: 2) != nil)
  }

  @Test func `a directory that cannot be made names its path`() throws {
    try Data("a file".utf8).write(to: URL(filePath: directory.path + "/store"))
    let error = #expect(throws: StoreError.self) { try ThumbnailStore(directory) }
    #expect(error?.path == directory.path + "/store")
    #expect(error?.description.contains("ENOTDIR") == true)
  }

  @Test(.enabled(if: geteuid() != 0, "root may write anywhere"))
  func `a directory that may not be written is not permitted`() throws {
    #expect(unsafe chmod(directory.path, 0o500) == 0)
    let error = #expect(throws: StoreError.self) { try ThumbnailStore(directory) }
    #expect(error?.reason == .notPermitted)
  }

  @Test func `a store knows that its directory was removed or replaced`() throws {
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
    (.versionMismatch, .newerVersion), (.noSuchFile, .absent), (.keyExists, .failed),
  ])
  func `every code has its reason and keeps its name`(
    code: StoreError.Code, reason: StoreError.Reason
  ) {
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
