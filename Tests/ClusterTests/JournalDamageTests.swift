import FoundationEssentials
import Glibc
import ImgModel
import ImgSystem
import TestCluster
import Testing

/// A journal in which the outcomes can no longer be read.
@Suite(.timeLimit(.minutes(20)))
struct JournalDamageTests {
  @Test func `a job whose outcomes are damaged can be removed`() throws {
    let cluster = try Cluster()
    let job = try cluster.run((0..<500).map { "bad line \($0)" }).job
    let coordinator = try cluster.runningCoordinator()
    coordinator.signal(SIGTERM)
    #expect(try coordinator.wait().exitCode == 0)
    try damageOutcomes(in: cluster.dataDirectory + "/journal/data.mdb")

    try cluster.start()
    let read = try cluster.imgctl("failures", "\(job)")
    #expect(read.messages.contains("is damaged"))
    let removal = try cluster.imgctl("remove", "\(job)")
    #expect(removal.exitCode == 0, "\(removal)")
    #expect(try cluster.jobs() == [])
    #expect(try cluster.status().journalError == nil)
  }

  // LMDB's pages begin with their number, a checksum, flags, and the end of the list of their
  // entries (`MDB_page` in its source).
  private static let pageByteCount = 4_096
  private static let flagsOffset = 10
  private static let leafFlag: UInt8 = 2
  private static let headerByteCount = 16

  /// Overwrites the type of every page that holds many outcomes.
  private func damageOutcomes(in path: String) throws {
    var bytes = Array(try Data(contentsOf: URL(filePath: path)))
    var count = 0
    for start in stride(from: 0, to: bytes.count, by: Self.pageByteCount) {
      let page = bytes[start..<start + Self.pageByteCount]
      let flags = page[start + Self.flagsOffset]
      let entriesEnd = Int(page[start + 12]) + Int(page[start + 13]) << 8
      guard flags == Self.leafFlag, entriesEnd > Self.headerByteCount + 2 * 10,
        String(decoding: page, as: UTF8.self).contains("invalid_url")
      else { continue }
      bytes[start + Self.flagsOffset] = 0
      count += 1
    }
    try #require(count > 0)
    let file = try FileIO.create(path)
    try FileIO.writeAll(file.rawValue, bytes)
  }
}
