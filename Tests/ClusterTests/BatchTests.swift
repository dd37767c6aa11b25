import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Lists from `imgctl submit` to their numbers.
@Suite(.timeLimit(.minutes(20))) struct BatchTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster()
  }

  @Test func `lines have one outcome; a second job fetches no stored or missing picture`() throws {
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
    #expect(first.fetchedByteCount + second.fetchedByteCount == Int64(sent), "of failures as well")
    let counters = origin.origin.snapshot
    for line in list.lines {
      let path = String(line.dropFirst(origin.origin.baseURL.count))
      let isFetchedAgain = list.failures[line] == Failure.Code.notAnImage.rawValue
      #expect(counters[path].requests == (isFetchedAgain ? 2 : 1), "\(path)")
    }
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
    #expect(status.fetchedByteCount == Int64(origin.origin.totals().bytesSent))
  }

  @Test func `a part of a list is a job with the numbers of its lines; a dry run is none`() throws {
    let pictures = origin.pictures(4)
    _ = try cluster.imgctl("submit", "--wait", try cluster.list([pictures[0]], name: "stored"))
    let list = try cluster.list(
      ["# pictures", pictures[0], pictures[1], "", "no URL", pictures[1], pictures[2]])
    let requests = origin.origin.totals().requests
    let dry = try cluster.imgctl("submit", "--dry-run", "--json", list)
    #expect(
      dry.output
        == "{\"duplicates\":1,\"hosts\":1,\"invalid\":1,\"local\":0,\"schema\":1,\"stored\":1,"
        + "\"to_fetch\":2,\"total\":5}\n")
    let told = try cluster.imgctl("submit", "--dry-run", "--unique", "--skip", "1", list)
    #expect(told.output.hasPrefix("3 lines for a job, which was not submitted\n"))
    #expect(told.output.contains("\n2 to fetch from 1 host\n  2 of 127.0.0.1"))
    #expect(
      told.messages == "takes 3 of 5 lines, without 1 skipped, 1 duplicate\n")
    #expect(origin.origin.totals().requests == requests)
    let submit = try cluster.imgctl("submit", "--wait", "--skip", "1", "--unique", list)
    #expect(submit.output == "2\n")
    var lines: [Int?] = []
    try cluster.client().results(of: JobID(rawValue: 2), isFailedOnly: false) {
      lines.append($0.place?.line)
    }
    #expect(lines == [3, 5, 7])
    let nothing = try cluster.imgctl("submit", "--skip", "5", list)
    #expect(nothing.exitCode == 0 && nothing.output.isEmpty)
    #expect(nothing.messages == "no job: takes 0 of 5 lines, without 5 skipped\n")
  }

  @Test func `columns of lists are in failures, and beside the files of an export`() throws {
    let pictures = origin.pictures(2)
    let table = try cluster.directory.write(
      Array(
        "id,url,caption\n007,\(pictures[0]),\"A \"\"cat\"\", sleeping\"\n8,\(origin.url("/missing")),\"b\n\tc\u{1B}\"\n"
          .utf8),
      to: "table.csv")
    let records = try cluster.directory.write(
      Array("[{\"caption\":\"c\",\"id\":9,\"url\":\"\(pictures[1])\"}]".utf8), to: "records.json")
    let submit = try cluster.imgctl("submit", "--wait", "--columns", "all", table, records)
    #expect(submit.exitCode == 1)
    let table1 = try cluster.imgctl("failures", "1", "--csv")
    #expect(
      table1.output.hasPrefix(
        "index,line,list,code,http_status,retryable,url,detail,id,caption\r\n1,3,0,"))
    #expect(table1.output.hasSuffix(",8,\"b\n\tc\u{FFFD}\"\r\n"))
    let failure = try cluster.json(["failures", "1"])
    #expect(failure.columns.id == "8")

    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    func lines(_ name: String) throws -> [Substring] {
      try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8).split(separator: "\n")
    }
    let manifest = try lines("manifest.jsonl")
    #expect(manifest.count == 3)
    #expect(manifest[0].contains(#""columns":{"caption":"A \"cat\", sleeping","id":"007"}"#))
    #expect(
      try lines("metadata.jsonl")
        == [
          #"{"caption":"A \"cat\", sleeping","file_name":"0000000.jpg","id":"007","url":"\#(pictures[0])"}"#,
          #"{"caption":"c","file_name":"0000002.jpg","id":9,"url":"\#(pictures[1])"}"#,
        ].map { Substring($0) })
    // A second export knows what the first has written.
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    #expect(try lines("metadata.jsonl").count == 2)
    let latin = try cluster.directory.write(
      Array("id,url,caption\n1,\(pictures[0]),b\n2,\(pictures[1]),Gr".utf8) + [0xF6, 0x0A],
      to: "latin.csv")
    let undecodable = try cluster.imgctl("submit", "--columns", "caption", latin)
    #expect(undecodable.exitCode == 2)
    #expect(
      undecodable.messages.contains(
        "latin.csv is not UTF-8 (line 3), so its columns cannot be kept;"))
    #expect(try cluster.imgctl("submit", "--wait", latin).exitCode == 0)

    let other = try cluster.list([pictures[0]])
    let refused = try cluster.imgctl("submit", "--columns", "all", table, other)
    #expect(refused.exitCode == 2)
    #expect(refused.messages.contains("has one URL a line, and no columns"))
  }

  @Test func `a column names the files of an export`() throws {
    let pictures = origin.pictures(2)
    let table = try cluster.directory.write(
      Array("id,url\n007,\(pictures[0])\n9,\(pictures[1])\n".utf8), to: "table.csv")
    _ = try cluster.imgctl("submit", "--wait", "--columns", "all", table)
    let named = cluster.directory.file("named")
    for _ in 1...2 {
      #expect(try cluster.imgctl("export", "1", named, "--names", "{id}").exitCode == 0)
      #expect(["007.jpg", "9.jpg"].allSatisfy { FileIO.isFile("\(named)/\($0)") })
    }
    let otherwise = try cluster.imgctl("export", "1", named)
    #expect(otherwise.exitCode == 2)
    #expect(
      otherwise.messages
        == "imgctl: \(named) has files of the job under other names, such as 007.jpg for 0000000.jpg: give the --names of "
        + "that export, or name another directory\n")
    let unknown = try cluster.imgctl("export", "1", named, "--names", "{key}")
    #expect(
      unknown.messages.hasPrefix(
        "imgctl: the job has no column \"key\" for the names; write one of "))
  }

  @Test func `several lists are one job in their order, and an error in one accepts none`() throws {
    let first = try cluster.list([origin.pictures(2)[1], "no URL"], name: "first.txt")
    let empty = try cluster.list([], name: "empty.txt")
    let piped = try cluster.list([origin.pictures(1)[0]], name: "piped.txt")
    let submit = try cluster.begin(["submit", "--wait", first, empty, "-"], inputPath: piped).wait()
    #expect(submit.output == "1\n")
    var lines: [String] = []
    try cluster.client().results(of: JobID(rawValue: 1), isFailedOnly: false) {
      lines.append($0.url)
    }
    #expect(lines == [origin.pictures(2)[1], "no URL", origin.pictures(1)[0]])

    let broken = try cluster.directory.write([0x61, 0x0A, 0x62, 0], to: "broken.txt")
    let refused = try cluster.imgctl("submit", first, broken)
    #expect(refused.exitCode == 2)
    #expect(refused.messages.contains("\(broken) is not a text file (line 2)"))
    #expect(try cluster.imgctl("list", "--json").lines.count == 1)
    // A list that is missing is noticed before the first is sent.
    let missing = try cluster.imgctl("submit", first, "/nowhere/urls.txt")
    #expect(missing.exitCode == 2 && missing.messages.contains("/nowhere/urls.txt"))
    try cluster.expectRefused(
      "submit", first, "--respect-robots", "yes", because: "--respect-robots takes no value")
    #expect(try cluster.imgctl("submit", "--wait", first).output == "3\n")
  }

  /// A page of Lorem Picsum's list.
  private func picsumPage(_ urls: [String]) -> Behaviour {
    let pictures = urls.enumerated().map { index, url in
      #"{"id":"\#(index)","author":"A","width":64,"height":48,"url":"x","download_url":"\#(url)"}"#
    }
    return .body(
      Array("[\(pictures.joined(separator: ", "))]".utf8), contentType: "application/json")
  }

  private func lines(of job: Int) throws -> [String] {
    var lines: [String] = []
    try cluster.client().results(of: JobID(rawValue: UInt64(job)), isFailedOnly: false) {
      lines.append($0.url)
    }
    return lines
  }

  @Test func `pages of a Lorem Picsum list are one job, up to the first that has no pictures`()
    throws
  {
    let pictures = origin.pictures(5)
    let pages: [String?: Behaviour] = [
      nil: picsumPage(Array(pictures[0..<2])), "page=2": picsumPage(Array(pictures[2..<4])),
      "page=3": .redirect(to: "/last"), "page=4": picsumPage([]),
    ]
    origin.origin.fallback = { [others = origin.origin.fallback] path, query in
      path == "/v2/list" ? pages[query] : others(path, query)
    }
    origin.origin.serve("/last", picsumPage([pictures[4]]))
    let picsum = ["submit", "--wait", "--input-format", "picsum"]
    let base = origin.origin.baseURL
    #expect(try cluster.begin(picsum + [base, "--pages", "2"]).wait().output == "1\n")
    #expect(try lines(of: 1) == Array(pictures[0..<4]))
    #expect(
      try cluster.begin(picsum + ["\(base)/v2/list?page=2", "--pages", "9"]).wait().output == "2\n")
    #expect(try lines(of: 2) == Array(pictures[2...]))
    #expect(origin.origin.counters("/v2/list").requests == 5)

    let file = try cluster.directory.write(
      Array(#"[{"download_url": "\#(pictures[0])"}]"#.utf8), to: "list.json")
    #expect(try cluster.begin(picsum + [file]).wait().output == "3\n")
    #expect(try lines(of: 3) == [pictures[0]])
  }

  @Test func `a list at a URL is fetched as pictures are, and read as its format says`() throws {
    let cluster = try Cluster(["ATTEMPTS": "2"])
    // More than a worker holds in memory.
    let long = (0..<700).map { "no URL \($0) " + String(repeating: "a", count: 7_000) }
    origin.origin.serve(
      "/urls.txt", .statuses([503, 200], body: Array(long.joined(separator: "\n").utf8)))
    let text = ["submit", "--input-format", "text"]
    let base = origin.origin.baseURL
    #expect(try cluster.begin(text + ["--wait", "\(base)/urls.txt"]).wait().output == "1\n")
    #expect(try cluster.status(of: JobID(rawValue: 1)).total == long.count)

    origin.origin.serve("/same", picsumPage(["https://example.org/a.jpg"]))
    origin.origin.serve("/empty", .empty)
    let refusals: [([String], String)] = [
      (["submit", "\(base)/urls.txt"], "--input-format reads a list there"),
      (text + ["\(base)/nothing"], "/nothing: http_status: the origin answered 404"),
      (text + ["\(base)/empty"], "/empty contains no URL"),
      (text + ["http://192.0.2.1/urls.txt"], "blocked_address: 192.0.2.1 is refused"),
      (["submit", "--input-format", "picsum", "\(base)/p/1"], "/p/1: no list of Lorem Picsum"),
      (
        text + ["\(base)/urls.txt", "--header", "Authorization: Bearer a"],
        "--header: every host that the list names would get the header"
      ),
      (
        ["submit", "--input-format", "picsum", "--pages", "2", "urls.json"],
        "--pages is for lists at URLs alone"
      ),
      (
        ["submit", "--input-format", "picsum", "--pages", "2", "\(base)/same?page=\(Int.max)"],
        "the number of the page is too large"
      ),
      (["info", "--list", "\(base)/urls.txt"], "a list is a file here"),
      (["submit", "--pages", "2", "urls.txt"], "--pages needs --input-format picsum"),
      (
        ["submit", "--input-format", "yaml", "urls.txt"],
        #""yaml" is not text, csv, tsv, json or picsum"#
      ),
    ]
    for (arguments, reason) in refusals {
      let result = try cluster.begin(arguments).wait()
      #expect(result.exitCode == 2)
      #expect(result.messages.contains(reason), "\(result.messages)")
    }
    #expect(try cluster.imgctl("list", "--json").lines.count == 1)
    // A server without pages, or one that repeats its last page.
    let picsum = ["submit", "--input-format", "picsum", "--pages", "3", "\(base)/same"]
    let job = try #require(try cluster.begin(picsum).wait().lines.first.flatMap(JobID.init))
    #expect(try cluster.status(of: job).total == 1)
  }

  @Test func `each size is stored from one request, and exported`() throws {
    let maker = try PictureMaker.start()
    origin.origin.serve("/large", .body(try maker.card(index: 1, width: 640, height: 480)))
    origin.origin.serve("/small", .body(try maker.card(index: 2, width: 80, height: 60)))
    let urls = ["/large", "/small"].map(origin.url)
    let job = try cluster.submit(urls, "--size", "64", "--size", "256", "--size", "400x40")
    #expect(try cluster.finished(job).done == 2)
    #expect(origin.origin.totals().requests == 2)
    for (size, width) in [("64", 64), ("256", 256), ("400x40", 53)] {
      let got = try cluster.json("get", urls[0], "--size", size, "--cache-policy", "cache-only")
      #expect(got.width.int == width)
    }
    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    #expect(
      names == [
        "0000000-256x192.jpg", "0000000-53x40.jpg", "0000000-64x48.jpg", "0000001-53x40.jpg",
        "0000001-64x48.jpg", "0000001-80x60.jpg", "manifest.jsonl",
      ])
    let manifest = try String(contentsOfFile: "\(directory)/manifest.jsonl", encoding: .utf8)
    let first = try #require(manifest.split(separator: "\n").first)
    #expect(first.contains(#""file":"0000000-64x48.jpg""#))
    #expect(first.contains(#""file":"0000000-256x192.jpg""#))
    // Each file is known by its size, also if the store still has another.
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    #expect(try cluster.json("export", "\(job)", directory).present.int == 6)
    #expect(try String(contentsOfFile: "\(directory)/manifest.jsonl", encoding: .utf8) == manifest)
    #expect(unsafe unlink("\(directory)/0000000-256x192.jpg") == 0)
    _ = try cluster.imgctl("get", urls[0], "--size", "64")
    let gone = try cluster.json("export", "\(job)", directory)
    #expect([gone.changed, gone.present, gone.missing, gone.not_in_store] == [1, 4, 0, 1])
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    let fetched = try cluster.json("export", "\(job)", directory, "--fetch")
    #expect([fetched.exported, fetched.present] == [3, 3], "a line is fetched as a whole")
    // What is left of a line is no failure.
    #expect(unsafe unlink("\(directory)/0000000-256x192.jpg") == 0)
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    origin.origin.serve("/large", .status(404))
    #expect(try cluster.imgctl("export", "\(job)", directory, "--fetch").exitCode == 1)
    let left = try String(contentsOfFile: "\(directory)/manifest.jsonl", encoding: .utf8)
    #expect(
      left.contains(#""file":"0000000-64x48.jpg""#) && !left.contains(#""reason""#), "\(left)")
  }
}

/// What a person does to a job that was accepted: pause, resume, retry, remove.
@Suite(.timeLimit(.minutes(20))) struct JobChangeTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster.inOrder()
  }

  /// A job with eight held pictures under way, and fifty that wait.
  private func startedJob() throws -> (job: JobID, held: [String]) {
    let held = origin.holdPictures(8)
    let job = try cluster.submit(held.map(origin.url) + origin.pictures(50))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    return (job, held)
  }

  // MARK: - Pause and resume

  @Test func `pause finishes running URLs and starts no more until resume, also after a crash`()
    throws
  {
    let (job, held) = try startedJob()
    #expect(try cluster.imgctl("pause", "\(job)").exitCode == 0)
    origin.release(held)
    try #require(try eventually { try cluster.status(of: job).running == 0 })
    try cluster.restartAfterCrash()
    let paused = try cluster.status(of: job)
    #expect(paused.state == .paused)
    #expect([paused.done, paused.queued] == [8, 50])
    // Others go on beside it, and show that the paused one had its chance.
    #expect(try cluster.run([origin.url("/p/100")]).done == 1)
    #expect(origin.origin.startOrder().dropFirst(8) == ["/p/100"])

    let two = try cluster.imgctl("resume", "\(job)", "99")
    #expect(two.exitCode == 2)
    #expect(two.messages.contains("job \(job) continues after 8 of 58\nimgctl: there is no job 99"))
    #expect(try cluster.imgctl("wait", "\(job)").exitCode == 0)
    let status = try cluster.status(of: job)
    #expect([status.done, status.fromCache] == [58, 0])
    #expect(origin.origin.totals().requests == 59)
  }

  // MARK: - Retry

  @Test func `retry repeats temporary failures, and --all every failure`() throws {
    let good = origin.pictures(10)
    let busy = (0..<5).map { "/busy/\($0)" }
    let missing = (0..<3).map { "/missing/\($0)" }
    for path in busy { origin.refuseOnce(path) }
    let job = try cluster.submit(good + busy.map(origin.url) + missing.map(origin.url))
    let first = try cluster.finished(job)
    #expect([first.done, first.failed, first.retryable] == [10, 8, 5])

    #expect(try cluster.imgctl("retry", "\(job)", "--wait").exitCode == 1)
    let second = try cluster.status(of: job)
    #expect([second.total, second.done, second.failed, second.retryable] == [18, 15, 3, 0])
    #expect(second.fromCache == 0)
    #expect(Set(origin.origin.startOrder().dropFirst(18)) == Set(busy))
    try cluster.expectRefused("retry", "\(job)", because: "--all retries all 3")

    for path in missing { origin.serve(path) }
    #expect(try cluster.imgctl("retry", "\(job)", "--all", "--wait").exitCode == 0)
    let third = try cluster.status(of: job)
    #expect([third.done, third.failed, third.cancelled] == [18, 0, 0])
    #expect(Set(origin.origin.startOrder().dropFirst(18 + 5)) == Set(missing))
    #expect(origin.origin.totals().requests == 18 + 5 + 3)
    #expect(try cluster.failures(of: job).isEmpty)
  }

  // MARK: - Remove

  @Test func `a removed job is gone, its number is not reused, and its thumbnails stay`() throws {
    let first = try cluster.run(origin.pictures(3)).job
    let second = try cluster.run(origin.pictures(5)).job
    #expect(try cluster.imgctl("remove", "\(second)").exitCode == 0)
    #expect(try cluster.jobs() == [first])
    #expect(try cluster.imgctl("status", "\(second)").messages.contains("there is no job 2"))
    #expect(try cluster.imgctl("get", origin.url("/p/4")).exitCode == 0)

    try cluster.restartAfterCrash()
    let third = try cluster.run(origin.pictures(5))
    #expect(third.job == JobID(rawValue: 3))
    #expect(third.fromCache == 5)
    #expect(origin.origin.totals().requests == 5)
  }
}
