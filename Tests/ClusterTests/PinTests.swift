import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// A list that is larger than its store.
@Suite(.timeLimit(.minutes(20))) struct PinTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  private static let count = 120

  init() throws {
    cluster = try Cluster(isStarted: false)
    try start()
    // Each thumbnail has about 100 KB, so the store holds about 90 of them.
    let noise = try PictureMaker.start().noise(seed: 1, width: 400, height: 400)
    for number in 0..<Self.count { origin.origin.serve("/noise/\(number)", .body(noise)) }
  }

  private func start() throws { try cluster.start(["--store-budget", "10M"]) }

  private var list: [String] { (0..<Self.count).map { origin.url("/noise/\($0)") } }

  /// Submits the list and waits until it ends, or waits for room in the store.
  private func submit(_ options: String...) throws -> ImageJob {
    let result = try cluster.begin(
      ["submit", try cluster.list(list), "--size", "400"] + options
    ).wait()
    #expect(result.exitCode == 0, "\(result.messages)")
    let job = try #require(result.lines.first.flatMap(JobID.init))
    return try settled(job)
  }

  private func settled(_ job: JobID) throws -> ImageJob {
    try cluster.client().watch(job, every: .milliseconds(100)) { $0.wait?.kind != .storePinned }
  }

  @Test func `a list goes through a smaller store by exports, over a restart, and loses nothing`()
    throws
  {
    let waiting = try submit("--pin")
    #expect(waiting.wait?.kind == .storePinned)
    #expect(waiting.storeShortage?.budgetByteCount == 10 << 20)
    #expect((40..<Self.count).contains(waiting.done) && waiting.failed == 0)
    let stored = try cluster.imgctl("cache", "stat", "--json").output
    #expect(stored.contains("\"pinned\":\(waiting.done),"))

    try cluster.killCoordinator()
    try start()
    #expect(try settled(waiting.job).done == waiting.done)
    let quiet = try cluster.begin(["wait", "\(waiting.job)", "--quiet"])
    // Others are served meanwhile, and evict what is not pinned.
    for number in 0..<10 {
      let get = try cluster.imgctl("get", origin.url("/p/\(number)"), "--json")
      #expect(get.exitCode == 0)
    }

    let directory = cluster.directory.file("out")
    let part = try cluster.imgctl("export", "\(waiting.job)", directory)
    #expect(part.messages.hasPrefix("exported \(waiting.done) thumbnails to \(directory); "))
    let ended = try cluster.client().watch(waiting.job, every: .seconds(1)) { _ in true }
    #expect(ended.state == .finished && ended.done == Self.count)
    let told = try quiet.wait()
    #expect(
      told.messages.hasPrefix(
        "job \(waiting.job) is waiting: pins use up the store (imgctl export \(waiting.job) DIR, "),
      "\(told.messages)")
    let whole = try cluster.imgctl("export", "\(waiting.job)", directory, "--json")
    #expect(whole.exitCode == 0, "\(whole.output)")
    for number in 0..<Self.count {
      let digits = "000000\(number)".suffix(7)
      #expect(FileIO.isFile("\(directory)/\(digits).jpg"))
    }
    let left = try cluster.imgctl("cache", "stat", "--json").output
    #expect(left.contains("\"pinned\":0,"))
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
    #expect(origin.origin.counters("/noise/0").requests == 1)
  }

  @Test func `without pins later thumbnails replace earlier ones, which the job counts`() throws {
    let waiting = try submit()
    #expect(waiting.wait?.kind == .storePinned)
    #expect(try cluster.imgctl("unpin", "\(waiting.job)").exitCode == 0)
    let ended = try cluster.client().watch(waiting.job, every: .seconds(1)) { _ in true }
    #expect(ended.state == .finished)
    let again = try cluster.imgctl("wait", "\(waiting.job)")
    #expect(again.messages.contains(" of \(Self.count) thumbnails are no longer stored"))
    let refused = try cluster.imgctl("unpin", "\(waiting.job)")
    #expect(refused.exitCode != 0)
    #expect(refused.messages.contains("is finished and pins nothing"))

    // What is missing is fetched beside a store that another job has filled with pins.
    let other = try submit("--pin", "--quality", "81")
    #expect(other.wait?.kind == .storePinned)
    let directory = cluster.directory.file("out")
    let fetched = try cluster.imgctl("export", "\(waiting.job)", directory, "--fetch")
    #expect(fetched.exitCode == 0, "\(fetched.messages)")
    for number in 0..<Self.count {
      #expect(FileIO.isFile("\(directory)/\("000000\(number)".suffix(7)).jpg"))
    }
    #expect(try cluster.client().answer(.job(other.job)).done == other.done)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    let started = try cluster.imgctl("start", "--store-budget", "10M").messages
    #expect(
      started.contains(" of a store of 10.0 MiB: jobs that pin wait (imgctl export, "), "\(started)"
    )
  }
}

/// Jobs that replace or remove what others pin.
@Suite(.timeLimit(.minutes(20))) struct LostPinTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster()
  }

  private func archive(_ list: String) throws -> String {
    let result = try cluster.imgctl(
      "submit", list, "--keep", "original", "--pin", "--cache-policy", "reload", "--wait")
    #expect(result.exitCode == 0)
    return result.messages
  }

  @Test func `a job that replaces what another one pins says so, and so does the status of both`()
    throws
  {
    let maker = try PictureMaker.start()
    let list = try cluster.list([origin.url("/a")])
    origin.origin.serve("/a", .body(try maker.card(index: 1, width: 64, height: 48)))
    let start = "took the place of records that other jobs pin, maybe with other bytes: "
    #expect(try !archive(list).contains(start))
    origin.origin.serve("/a", .body(try maker.card(index: 2, width: 64, height: 48)))
    #expect(try archive(list).contains("\(start)1 of job 1\n"))
    #expect(try cluster.imgctl("status", "2").messages.contains("\(start)1 of job 1\n"))
    let later = try cluster.json("status", "2")
    #expect(later.stored_after_job == 0)
    #expect(later.replaced_pinned == .array([.object(["job": .number(1), "records": .number(1)])]))

    let sentence = "1 original was stored after job 1 had its own, and may not be what it fetched\n"
    #expect(try cluster.imgctl("status", "1").messages.contains(sentence))
    let earlier = try cluster.json("status", "1")
    #expect(earlier.stored_after_job == 1)
    #expect(earlier.replaced_pinned == .array([]))

    // What is exported is pinned no more.
    _ = try cluster.imgctl("export", "1", cluster.directory.file("out"))
    #expect(try archive(list).contains("\(start)1 of job 2\n"))
  }

  @Test func `a removal of what jobs pin names them`() throws {
    let list = origin.pictures(3)
    let first = try cluster.finished(try cluster.submit(list, "--pin")).job
    let second = try cluster.finished(try cluster.submit([list[0]], "--pin")).job
    let removed = try cluster.imgctl("cache", "rm", list[0])
    #expect(removed.messages == "removed 1 record, pinned: 1 by job \(first), 1 by job \(second)\n")
    let other = try cluster.imgctl("cache", "rm", list[1], "--json").output
    #expect(other.contains("\"pinned\":[{\"job\":\(first),\"records\":1}],\"removed\":1"))
    let emptied = "the store is empty; of what was removed, pinned: 1 by job \(first)\n"
    #expect(try cluster.imgctl("cache", "reset").messages == emptied)
  }

  @Test func `remove says how much of what a job pins was not exported`() throws {
    let list = origin.pictures(2)
    let jobs = try (1...2).map { _ in try cluster.finished(try cluster.submit(list, "--pin")).job }
    _ = try cluster.imgctl("export", "\(jobs[0])", cluster.directory.file("out"))
    #expect(try cluster.imgctl("remove", "\(jobs[0])").messages == "removed 1 job\n")

    #expect(
      try cluster.imgctl("remove", "\(jobs[1])").messages
        == "pinned and not exported, which the store may evict now: 2 of job \(jobs[1])\nremoved 1 job\n"
    )
  }
}
