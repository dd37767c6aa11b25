import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import TestFiles
import TestPictures
import Testing

@testable import ImgWorker

/// Pictures that need no network: in a URL, or uploaded.
@Suite(.timeLimit(.minutes(20))) struct LocalPictureTests {
  private static let url = "http://127.0.0.1:1/a"
  private let picture: [UInt8]

  init() throws {
    picture = try PictureMaker.start().card(index: 1)
  }

  private static let svg =
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'/>"

  private func decode(
    _ lease: LeaseID, _ url: String, limits: Limits = Limits()
  ) throws -> Outcome? {
    let worker = try RunningWorker(limits: limits)
    let text = try ImageURL(parsing: url).text
    let outcome = try worker.outcome(of: .decode(Batch(lease, text, width: 256)))
    let found = try worker.lookUp([Assignment(lease: 9, url: text)])
    #expect(found.hits.isEmpty == (outcome?.width == nil))
    return outcome
  }

  /// The same drawing, compressed as a whole (SVG 1.1 section 3.2).
  private static let svgz =
    "data:image/svg+xml;base64,H4sIAAAAAAACA7MpLktXqMjNySu2Vc8oKSmw0tcvLy/XKzfWyy9K1zcyMDDQB6pQVyjP"
    + "TCnJsFU3MVBXyEjNTM8osVU3NlDXtwMALYU9skAAAAA="

  @Test(arguments: [svg, svgz])
  func `the picture that a URL holds is decoded and stored`(url: String) throws {
    let outcome = try decode(1, url)
    #expect(outcome?.width == 256)
    #expect(outcome?.bytesFetched == 0)
    #expect(outcome?.isFromCache == false)
  }

  @Test(arguments: [
    ("data:,hello", Failure.Code.notAnImage), ("data:;base64,a", .invalidURL),
    ("data:,", .notAnImage),
  ])
  func `a URL that holds no picture fails with its code`(url: String, code: Failure.Code) throws {
    #expect(try decode(1, url)?.failureCode == code)
  }

  @Test func `a URL that holds more than a body may have is refused`() throws {
    var limits = Limits()
    limits.maxBodyByteCount = 50
    #expect(try decode(1, Self.svg, limits: limits)?.failureCode == .tooLarge)
  }

  private func upload(
    _ bytes: [UInt8], as url: String?, keep: Keep = .thumbnail, byteCount: Int? = nil,
    wantsPixels: Bool = false, to worker: RunningWorker
  ) throws -> RunningWorker.Said {
    let message = Upload(
      lease: 1, url: url, request: ThumbnailRequest(variant: .standard, keep: keep),
      retention: Retention(after: .seconds(60)), byteCount: byteCount ?? bytes.count,
      wantsPixels: wantsPixels)
    try worker.send(.decodeUpload(message), with: MemoryFile(containing: bytes).file)
    return try worker.messages(untilEnded: 1)
  }

  @Test func `an upload without a URL is sent uncached and not stored`() throws {
    let worker = try RunningWorker()
    let said = try upload(picture, as: nil, keep: .all, to: worker)
    #expect(said.uncached[1]?.made.failure == nil)
    #expect(said.uncached[1]?.made.source.byteCount == picture.count)
    #expect(said.uncached[1]?.bytesFetched == 0)
    #expect(said.pictures[1]?.isEmpty == false)
    #expect(try worker.entryCount() == 0)
  }

  @Test(arguments: [nil, url])
  func `an upload for its pixels is sent as those and never stored`(url: String?) throws {
    let worker = try RunningWorker()
    let said = try upload(picture, as: url, keep: .all, wantsPixels: true, to: worker)
    let made = try #require(said.uncached[1]?.made)
    #expect([made.thumbnail.width, made.thumbnail.height] == [256, 192])
    #expect(made.thumbnail.byteCount == 256 * 192 * 4)
    #expect(said.pictures[1]?.count == 256 * 192 * 4)
    #expect(try worker.entryCount() == 0)
  }

  @Test(arguments: [
    (Keep.thumbnail, 1, 0), (.original, 1, 0), (.all, 2, 0),
    (.all, 2, ChunkedContent.groupByteCount),
  ])
  func `an upload for a URL is stored as requested`(
    keep: Keep, count: Int, padding: Int
  ) throws {
    let worker = try RunningWorker()
    let picture = picture + [UInt8](repeating: 7, count: padding)
    let said = try upload(picture, as: Self.url, keep: keep, to: worker)
    #expect(said.outcomes[1]?.width == (keep == .original ? 320 : 256))
    #expect(try worker.entryCount() == count)
    let original = try worker.original(of: ImageURL(parsing: Self.url))
    #expect(original == (keep.includesOriginal ? picture : nil))
  }

  @Test func `an upload that is not an image fails, and the stored thumbnail stays`() throws {
    let worker = try RunningWorker()
    _ = try upload(picture, as: Self.url, to: worker)
    let said = try upload(Array("no picture".utf8), as: Self.url, to: worker)
    #expect(said.outcomes[1]?.failureCode == .notAnImage)
    #expect(try worker.lookUp([Assignment(lease: 2, url: Self.url)]).hits.count == 1)
  }

  @Test func `a file of another size than announced is refused`() throws {
    let worker = try RunningWorker()
    let said = try upload(picture, as: nil, byteCount: picture.count + 1, to: worker)
    #expect(said.outcomes[1]?.failureCode == .internal)
  }
}

/// Pictures in files that URLs name.
@Suite(.timeLimit(.minutes(20))) struct FileTests {
  private let directory = TestDirectory()
  private let picture: [UInt8]

  init() throws {
    picture = try PictureMaker.start().card(index: 1)
  }

  private func url(_ name: String) throws -> String {
    try ImageURL(parsing: "file://\(directory.path)/\(name)").text
  }

  private func decode(_ url: String, _ worker: RunningWorker) throws -> Outcome? {
    try worker.outcome(of: .decode(Batch(1, url, width: 256)))
  }

  @Test func `a file is decoded and stored, and decoded again each time it is asked for`() throws {
    let worker = try RunningWorker(allowedDirectories: [directory.path])
    try FileIO.replace(path: "\(directory.path)/a.jpg", with: picture)
    let outcome = try decode(url("a.jpg"), worker)
    #expect(outcome?.width == 256)
    #expect(outcome?.bytesFetched == 0)
    #expect(outcome?.isFromCache == false)
    #expect(try worker.entryCount() == 1)
    // It is a miss, because it may have changed.
    #expect(try worker.lookUp([Assignment(lease: 9, url: url("a.jpg"))]).misses == [9])
    let small = try PictureMaker.start().card(index: 2, width: 40, height: 30)
    try FileIO.replace(path: "\(directory.path)/a.jpg", with: small)
    #expect(try decode(url("a.jpg"), worker)?.width == 40)
    #expect(try worker.entryCount() == 1)
  }

  @Test func `a file that may not or cannot be read fails with its code`() throws {
    try FileIO.replace(path: "\(directory.path)/junk", with: Array("no picture".utf8))
    try FileIO.replace(path: "\(directory.path)/a.jpg", with: picture)
    let worker = try RunningWorker(allowedDirectories: [directory.path])
    #expect(try decode(url("junk"), worker)?.failureCode == .notAnImage)
    #expect(try decode(url("none"), worker)?.failureCode == .unreadableFile)
    let missing = try decode("file:///etc/none", RunningWorker(allowedDirectories: ["/"]))
    let detail = try #require(missing?.failure?.detail)
    #expect(detail.hasPrefix("open /etc/none: No such file"), "\(detail)")
    #expect(try decode("file:///dev/zero", worker)?.failureCode == .blockedPath)
    // A name that begins like that of the directory is another.
    #expect(try decode("file://\(directory.path)2/a.jpg", worker)?.failureCode == .blockedPath)
    #expect(try decode(url("a.jpg"), RunningWorker())?.failureCode == .blockedPath)
  }

  @Test func `a file that is longer than a body may be is refused`() throws {
    var limits = Limits()
    limits.maxBodyByteCount = Int64(picture.count - 1)
    try FileIO.replace(path: "\(directory.path)/a.jpg", with: picture)
    let worker = try RunningWorker(limits: limits, allowedDirectories: [directory.path])
    #expect(try decode(url("a.jpg"), worker)?.failureCode == .tooLarge)
  }
}
