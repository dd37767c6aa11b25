import ImgModel
import ImgStore
import TestFiles
import Testing

@testable import ImgCoordinator

@Suite struct JournalGroupTests {
  private let directory: TestDirectory
  private let place: JournalPlace
  private let job = JobID(rawValue: 1)
  private let unknown = JobID(rawValue: 9)

  init() throws {
    directory = try TestDirectory()
    let owned = try DataDirectory(taking: directory.file("data"), socketPath: "/socket")
    place = JournalPlace(
      journal: try Journal(directory: directory.file("data/journal")), directory: owned)
  }

  private var submission: [JournalOperation] {
    let record = JobRecord(
      id: job, options: RequestOptions(variant: .standard), submittedAt: WallTime(rawValue: 0))
    return [.createJob(record), .appendURLs(job, ["a", "b"]), .seal(job)]
  }

  @Test func `a group is written as one, reported once and then empty`() throws {
    var group = JournalGroup()
    #expect(group.write(to: place) == nil)
    group.add(submission)
    #expect(group.write(to: place) == .applied(submission))
    #expect(group.write(to: place) == nil)
    #expect(try place.journal.job(job)?.counts.total == 2)
  }

  @Test func `a part of a list that cannot be written is refused, outcomes are kept`() throws {
    var group = JournalGroup()
    group.add(submission)
    _ = group.write(to: place)
    let outcome = JournalOperation.record(job, index: 0, .cancelled)
    group.add([outcome, .seal(unknown)])
    guard case .refused([.seal(unknown)], _) = group.write(to: place) else {
      Issue.record("a job that was never created was sealed")
      return
    }
    #expect(group.write(to: place) == .applied([outcome]))
    #expect(try place.journal.job(job)?.counts.finished == 1)
  }

  @Test func `what follows of a refused list is dropped up to its discard`() {
    var group = JournalGroup()
    group.add([.seal(unknown)])
    _ = group.write(to: place)
    group.add([.appendURLs(unknown, ["a"])])
    #expect(group.write(to: place) == nil)
    group.add([.discard(unknown)])
    #expect(group.write(to: place) == .applied([.discard(unknown)]))
    group.add(submission)
    #expect(group.write(to: place) == .applied(submission))
  }

  @Test(arguments: ["data", "data/journal", "data/coordinator.lock"])
  func `when the files are removed nothing is written any more, and nothing reported durable`(
    part: String
  ) throws {
    #expect(place.loss == nil)
    try directory.remove(part)
    var group = JournalGroup()
    group.add(submission)
    guard case .lost(let reason) = group.write(to: place) else {
      Issue.record("the removal was not noticed")
      return
    }
    #expect(reason == place.loss)
    #expect(reason.contains(directory.file("data")))
  }
}
