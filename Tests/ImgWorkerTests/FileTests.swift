import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import TestFiles
import TestPictures
import Testing

@testable import ImgWorker

/// Pictures in files that URLs name.
@Suite(.timeLimit(.minutes(20))) struct FileTests {
  private let directory: TestDirectory
  private let picture: [UInt8]

  init() throws {
    directory = try TestDirectory()
    picture = try PictureMaker.start().card(index: 1)
  }

  private func url(_ name: String) throws -> String {
    try ImageURL(parsing: "file://\(directory.path)/\(name)").text
  }

  private func decode(_ url: String, _ worker: RunningWorker) throws -> Outcome? {
    try worker.send(
      .decode(
        Batch(
          ThumbnailRequest(variant: .standard), retention: Retention(after: .seconds(60)),
          isUrgent: false, items: [Assignment(lease: 1, url: url)])))
    return try worker.messages(untilEnded: 1).outcomes[1]
  }

  @Test func `a file is decoded and stored, and decoded again each time it is asked for`() throws {
    let worker = try RunningWorker(allowedDirectories: [directory.path])
    try FileIO.replace(path: "\(directory.path)/a.jpg", with: picture)
    let outcome = try decode(url("a.jpg"), worker)
    #expect(outcome?.width == 256)
    #expect(outcome?.bytesFetched == 0)
    #expect(outcome?.isFromCache == false)
    let summary = try worker.store.current().summary()
    #expect(summary.entryCount == 1)
    // It is a miss, because it may have changed.
    #expect(try worker.lookUp([Assignment(lease: 9, url: url("a.jpg"))]).misses == [9])
    let small = try PictureMaker.start().card(index: 2, width: 40, height: 30)
    try FileIO.replace(path: "\(directory.path)/a.jpg", with: small)
    #expect(try decode(url("a.jpg"), worker)?.width == 40)
    #expect(try worker.store.current().summary().entryCount == 1)
  }

  @Test func `a file that may not or cannot be read fails with its code`() throws {
    try FileIO.replace(path: "\(directory.path)/junk", with: Array("no picture".utf8))
    try FileIO.replace(path: "\(directory.path)/a.jpg", with: picture)
    let worker = try RunningWorker(allowedDirectories: [directory.path])
    #expect(try decode(url("junk"), worker)?.failureCode == .notAnImage)
    #expect(try decode(url("none"), worker)?.failureCode == .unreadableFile)
    let missing = try decode("file:///etc/none", RunningWorker(allowedDirectories: ["/"]))
    guard case .failed(let failure, _) = missing else {
      Issue.record("\(String(describing: missing))")
      return
    }
    #expect(failure.detail.hasPrefix("open /etc/none: No such file"), "\(failure.detail)")
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
