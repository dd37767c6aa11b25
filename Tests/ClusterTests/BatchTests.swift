import ImgModel
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Lists from `imgctl submit` to their numbers.
@Suite(.timeLimit(.minutes(20)))
struct BatchTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster()
    origin = try ListOrigin()
  }

  @Test
  func
    `every line ends in one outcome, and a second job fetches neither stored nor missing pictures`()
    throws
  {
    let list = origin.mixedList(1_000)
    let job = try cluster.submit(list.lines)
    let first = try cluster.finished(job)
    try cluster.expect(first, endedAs: list)
    #expect(first.fromCache == 0)
    #expect(try cluster.status(of: job) == first)
    #expect(origin.origin.totals().requests == 1_000)

    let second = try cluster.run(list.lines)
    try cluster.expect(second, endedAs: list)
    #expect(second.fromCache == first.done)
    let sent = origin.origin.totals().bytesSent
    #expect(first.bytesFetched + second.bytesFetched == Int64(sent), "of failures as well")
    let counters = origin.origin.snapshot
    for line in list.lines {
      let path = String(line.dropFirst(origin.origin.baseURL.count))
      let isFetchedAgain = list.failures[line] == Failure.Code.notAnImage.rawValue
      #expect(counters[path].requests == (isFetchedAgain ? 2 : 1), "\(path)")
    }
  }

  @Test func `host names without an address fail alone`()
    throws
  {
    let cluster = try Cluster.inOrder()
    // A label of more than 63 octets (RFC 1035 section 2.3.4): no name server is asked.
    let name = String(repeating: "a", count: 64)
    var list = MixedList()
    for (number, picture) in origin.pictures(200).enumerated() {
      if number % 2 == 0 { list.add("http://\(name)\(number).test/", failing: .dnsFailure) }
      list.add(picture, failing: nil)
    }
    try cluster.expect(cluster.run(list.lines), endedAs: list)
  }

  @Test func `submit --wait ends with 1 when some images failed and with 0 when none did`() throws {
    let good = try cluster.list(origin.pictures(3), name: "good")
    let mixed = try cluster.list(origin.mixedList(10).lines, name: "mixed")
    #expect(try cluster.imgctl("submit", "--wait", good).exitCode == 0)
    let result = try cluster.imgctl("submit", "--wait", mixed)
    #expect(result.exitCode == 1)
    #expect(result.output == "2\n")
    #expect(result.messages.contains("imgctl failures 2"))
  }

  @Test func `lines with the same URL share one fetch and count separately`() throws {
    let status = try cluster.run(Array(repeating: origin.url("/p/1"), count: 50))
    #expect(status.done == 50)
    #expect(status.total == 50)
    #expect(origin.origin.counters("/p/1").requests == 1)
    #expect(status.bytesFetched == Int64(origin.origin.totals().bytesSent))
  }

  @Test func `bytes of failed bodies count as fetched`() throws {
    let card = try PictureMaker.start().card(index: 1, width: 640, height: 480)
    origin.origin.serve("/cut", .body(Array(card.prefix(card.count / 2))))
    let lines = ["/cut", "/text/1", "/missing/1"].map(origin.url)
    let status = try cluster.run(lines)
    #expect(status.failed == 3)
    #expect(status.bytesFetched > card.count / 2)
    #expect(status.bytesFetched == Int64(origin.origin.totals().bytesSent))
  }

  @Test func `an export writes one file for each thumbnail and a manifest of all lines`()
    throws
  {
    let list = origin.mixedList(20)
    let job = try cluster.run(list.lines).job
    let directory = cluster.directory.file("out")
    let result = try cluster.imgctl("export", "\(job)", directory)
    #expect(result.exitCode == 1)
    #expect(
      result.messages
        == "exported \(list.doneCount) thumbnails to \(directory), none for "
        + "\(list.failures.count) URLs; manifest.jsonl lists all\n")
  }

  @Test func `an export reports how many thumbnails have expired or were evicted since`() throws {
    let list = try cluster.list(origin.pictures(3) + ["no URL"])
    let submit = try cluster.imgctl("submit", "--wait", "--expire-after", "1ms", list)
    #expect(submit.output == "1\n")
    let directory = cluster.directory.file("out")
    // What expires within a millisecond has expired before another program runs.
    let result = try cluster.imgctl("export", "1", directory)
    #expect(result.exitCode == 1)
    #expect(
      result.messages == """
        exported 0 thumbnails to \(directory), none for 4 URLs; manifest.jsonl lists all
        3 thumbnails expired or evicted since; submit the list again to make them again

        """)
    let told = try cluster.imgctl("export", "1", directory, "--json")
    #expect(told.output == "{\"exported\":0,\"missing\":4,\"not_in_store\":3,\"schema\":1}\n")
    #expect(told.messages.isEmpty)
  }
}
