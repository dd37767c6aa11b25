import FoundationEssentials
import ImgSystem
import TestFiles
import Testing

@testable import ImgStore

/// The files of a release that had the store where now the directory around it is.
struct EarlierStoreTests {
  private let directory: TestDirectory
  private var place: String { directory.file("store") }
  private var path: String { "\(place)/thumbnails" }

  init() throws {
    directory = try TestDirectory()
  }

  /// A store with a picture, where an earlier release had it.
  private func makeEarlierStore() throws {
    let store = try ThumbnailStore(directory)
    try store.put([NewThumbnail(picture: 1)], at: .now)
  }

  private func bytesOfPicture() throws -> [UInt8]? {
    try ThumbnailStore(directory: path, access: .readOnly).bytes(ofPicture: 1)
  }

  @Test(arguments: [false, true])
  func `the store is moved, also on another disk, and what lay beside it is removed`(
    isLink: Bool
  ) throws {
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
