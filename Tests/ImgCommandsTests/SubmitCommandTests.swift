import FoundationEssentials
import Glibc
import ImgModel
import ImgSettings
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import Testing

@testable import ImgCommands

/// What a person is told whose list was under way when its coordinator left.
@Suite(.timeLimit(.minutes(20))) struct SubmitCommandTests {
  /// Submits a list that is longer than what a socket holds unread.
  private func submit(
    _ replies: @escaping @Sendable (ClientMessage) -> [CoordinatorReply?]
  ) async throws -> ScriptedCoordinator.Result {
    let coordinator = ScriptedCoordinator()
    let path = coordinator.directory + "/urls.txt"
    let lines = (0..<100_000).map { "https://example.org/\($0).jpg" }
    try FileIO.replace(path: path, with: Array(lines.joined(separator: "\n").utf8))
    return try await coordinator.run(["submit", path], replies: replies)
  }

  @Test func `a list is not accepted if the coordinator ends in the middle`() async throws {
    let result = try await submit { request in
      if case .submitLines = request { [nil] } else { [] }
    }
    #expect(
      result.error
        == "the coordinator has gone; the list had not arrived whole and was not accepted")
    #expect(result.output.isEmpty)
  }

  @Test func `Ctrl-C after the whole list was sent points to imgctl list`() throws {
    let directory = TestDirectory()
    let listener = try ScriptedListener(socketPath: directory.file("socket"))
    let list = try directory.write(Array("https://example.org/1.jpg\n".utf8), to: "urls.txt")
    let places = ["--socket", directory.file("socket"), "--data-dir", directory.path]
    let run = try ProgramRun(
      Programs.path(of: "imgctl"), ["submit", list] + places,
      environment: ["HOME": directory.path], in: directory)
    let hello = Hello(processID: 1, storeDirectory: directory.file("store/thumbnails"))
    _ = try listener.serve(hello: .hello(hello)) { request in
      if case .submitEnd = request { run.signal(SIGINT) }
      return []
    }
    let result = try run.wait()
    #expect(result.status == .signalled(SIGINT))
    #expect(
      result.messages.hasPrefix("interrupted when the whole list was sent: imgctl "),
      "\(result.messages)")
    #expect(result.output.isEmpty)
  }

  @Test func `if the reply to a complete list is missing, the error points to imgctl list`()
    async throws
  {
    let result = try await submit { request in
      if case .submitEnd = request { [nil] } else { [] }
    }
    #expect(
      result.error
        == "the coordinator has gone; whether it accepted the list is not known: imgctl list tells")
    #expect(result.output.isEmpty)
  }

  @Test func `the coordinator's last reason is reported`() async throws {
    let result = try await submit { request in
      guard case .submitLines(let id, _) = request else { return [] }
      return [.refused(id, .journal, message: "the disk is full"), nil]
    }
    #expect(result.error == "the disk is full")
  }

  @Test func `a list that is accepted prints the job's number`() async throws {
    let record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard),
      submittedAt: WallTime(rawValue: 0))
    let result = try await submit { request in
      switch request {
      case .submitEnd(let id):
        [.submitted(id, record.id, total: 100_000)]
      case .job(let id, _, _): [.job(id, ImageJob(record))]
      default: []
      }
    }
    #expect(result.exitCode == .success)
    #expect(result.output == "7\n")
  }

  @Test func `a list has the number of its operand, pictures before it included`() async throws {
    let coordinator = ScriptedCoordinator()
    let paths = ["a.txt", "p.jpg", "q.jpg", "b.txt"].map { "\(coordinator.directory)/\($0)" }
    for path in paths { try FileIO.replace(path: path, with: Array("https://h/1.jpg\n".utf8)) }
    let result = try await coordinator.run(["submit"] + paths) { request in
      switch request {
      case .submitEnd(let id): [.submitted(id, JobID(rawValue: 7), total: 4)]
      case .job(let id, _, _): [.job(id, .sample(7))]
      default: []
      }
    }
    #expect(result.output == "7\n", "\(result)")
    let lists = result.requests.flatMap { request -> [Int?] in
      guard case .submitLines(_, let lines) = request else { return [] }
      return lines.starts.compactMap(\.place).map(\.list)
    }
    #expect(lists == [0, 3])
  }
}

@Suite struct ListFileTests {
  /// Runs `body` in a directory of its own, which is removed at the end.
  private func withDirectory(_ body: (String) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.path + "/lists-\(UUID())"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try body(directory)
  }

  @Test func `a file is read to its end`() throws {
    try withDirectory { directory in
      let path = directory + "/urls.txt"
      let urls = (0..<20_000).map { "https://example.org/\($0).jpg" }
      try FileIO.replace(path: path, with: Array(urls.joined(separator: "\n").utf8))
      let list = try ListFile(path: path)
      var found: [String] = []
      while let batches = try list.next() { found += batches.flatMap(\.texts) }
      #expect(found == urls)
      #expect(try list.next() == nil)
    }
  }

  @Test func `a missing file is named`() throws {
    #expect {
      _ = try ListFile(path: "/nowhere/urls.txt")
    } throws: { error in
      "\(error)" == "open /nowhere/urls.txt: No such file or directory (ENOENT)"
    }
  }

  @Test func `a pattern is no pattern if it exists, whatever it is`() throws {
    try withDirectory { directory in
      for name in ["scan1", "scan[1]"] {
        try FileManager.default.createDirectory(
          atPath: "\(directory)/\(name)", withIntermediateDirectories: false)
      }
      #expect(FileList.expanded(["\(directory)/scan[1]"]) == ["\(directory)/scan[1]"])
      #expect(FileList.expanded(["\(directory)/scan[01]"]) == ["\(directory)/scan1"])
    }
  }

  @Test func `the output of a command is no picture of the directory`() throws {
    try withDirectory { directory in
      for name in ["b.jpg", "sheet.jpg", "a.jpg"] {
        try FileIO.replace(path: "\(directory)/\(name)", with: [0])
      }
      let files = FileList([directory], isRecursive: false, output: "\(directory)//sheet.jpg")
      var lines: [String] = []
      while let batches = try files.next() { lines += batches.flatMap(\.texts) }
      #expect(
        lines.map { HumanText.listed($0) } == ["a.jpg", "b.jpg"].map { "\(directory)/\($0)" })
      #expect(files.skipped.text == "skipped the output of the command")
    }
  }

  @Test(arguments: [Keep.original, .undecodedOriginal])
  func `local pictures are refused where the original alone would be kept`(keep: Keep) throws {
    func submission(_ path: String, _ keep: Keep) throws {
      _ = try ListSubmission(
        paths: [path], of: SubmitCommand.description,
        files: ListSubmission.FileOptions(isRecursive: false, keep: keep))
    }
    try withDirectory { directory in
      try FileIO.replace(path: directory + "/a.jpg", with: [0])
      try FileIO.replace(path: directory + "/list.txt", with: Array("./a.jpg\n".utf8))
      for name in ["a.jpg", "list.txt", ""] {
        let path = "\(directory)/\(name)"
        let error = #expect(throws: UsageError.self) { try submission(path, keep) }
        #expect(error?.description.contains("keeps no original of a local picture") == true)
        for other in [Keep.thumbnail, .auto, .all, .facts] { try submission(path, other) }
      }
    }
  }

  @Test func `a directory is not a list`() throws {
    try withDirectory { directory in
      #expect(
        throws: ListError.unreadable(reason: "open \(directory): Is a directory (EISDIR)")
      ) { _ = try ListFile(path: directory) }
    }
  }
}

/// Which lines of lists a job takes.
@Suite struct LineSelectionTests {
  private func selection(_ options: [String]) throws -> LineSelection {
    try LineSelection(in: ArgumentReader(["list"] + options, for: SubmitCommand.description))
  }

  /// The numbers, in the lists, of the lines that are taken.
  private func taken(_ lines: [String], _ options: String...) throws -> [Int] {
    var selector = LineSelector(try selection(options))
    var taken: [ListLines] = []
    for start in stride(from: 0, to: lines.count, by: 7) {
      var part = ListLines()
      for index in start..<min(start + 7, lines.count) {
        part.append(ListLine(lines[index], at: LinePlace(line: index + 1)))
      }
      taken += selector.take(part)
    }
    taken += selector.finish()
    #expect(selector.finish().isEmpty)
    return taken.flatMap { batch in
      batch.texts.indices.compactMap { offset in
        let line = batch.place(of: offset)?.line ?? 0
        return lines[line - 1] == batch.texts[offset] ? line : nil
      }
    }
  }

  private let urls = (0..<100).map { "http://host-\($0 % 10).example/\($0)" }

  @Test func `skip and limit count the lines, and no option takes all`() throws {
    #expect(try taken(urls) == Array(1...100))
    #expect(try taken(urls, "--skip", "10", "--limit", "5") == Array(11...15))
    #expect(try taken(urls, "--skip", "100") == [])
    #expect(try taken(urls, "--limit", "1000") == Array(1...100))
  }

  @Test func `shares have all lines, and no host in two of them`() throws {
    let lines = urls + ["no URL", "/pictures/a.jpg"]
    var shares: [[Int]] = []
    for number in 1...3 { shares.append(try taken(lines, "--shard", "\(number)/3")) }
    #expect(shares.flatMap(\.self).sorted() == Array(1...lines.count))
    let hosts = shares.map { Set($0.map { ($0 - 1) % 10 }.filter { $0 < 10 }) }
    #expect(shares.allSatisfy { $0.count < 70 && !$0.isEmpty })
    let ofURLs = zip(shares, hosts).map { share, _ in
      Set(share.filter { $0 <= 100 }.map { ($0 - 1) % 10 })
    }
    #expect(ofURLs.reduce(0) { $0 + $1.count } == 10)
    // The machines of a cluster need not have the same release.
    #expect(try taken(["http://example.org/"], "--shard", "3/4") == [1])
  }

  @Test func `the first of equal URLs is taken, and every line that is no URL`() throws {
    let lines = [
      "http://a.example/1", "HTTP://A.example/1", "http://a.example/2", "no URL", "no URL",
      "http://a.example/1",
    ]
    #expect(try taken(lines, "--unique") == [1, 3, 4, 5])
    #expect(try taken(lines, "--unique", "--skip", "1", "--limit", "2") == [2, 3])
  }

  @Test func `a sample is in the order of the list, the same each time, and has each part of it`()
    throws
  {
    let lines = (0..<20_000).map { "http://example.org/\($0)" }
    let sample = try taken(lines, "--sample", "1000")
    #expect(sample.count == 1_000)
    #expect(sample == sample.sorted())
    #expect(try taken(lines, "--sample", "1000") == sample)
    for part in 0..<10 {
      let count = sample.count { ($0 - 1) / 2_000 == part }
      #expect((60...140).contains(count), "of part \(part)")
    }
    #expect(try taken(lines, "--sample", "1000", "--limit", "10") == Array(sample.prefix(10)))
    #expect(try taken(urls, "--sample", "1000") == Array(1...100))
  }

  @Test func `columns are named with commas and spaces between them, and none is no name`() throws {
    func columns(_ text: String) throws -> ListFormat.Columns {
      let arguments = ["list", "--columns", text]
      return try ListFormat(in: ArgumentReader(arguments, for: SubmitCommand.description)).columns
    }
    #expect(try columns("id, the caption ,c") == .named(["id", "the caption", "c"]))
    #expect(try columns("all") == .all)
    for text in ["", " , "] {
      let error = #expect(throws: UsageError.self) { try columns(text) }
      #expect(error?.description.contains("--columns names no column") == true)
    }
  }

  @Test(arguments: ["0/4", "5/4", "1/0", "1", "1/2/3", "a/b", "1/-2"])
  func `a share that is none is refused with an example`(text: String) {
    let error = #expect(throws: UsageError.self) {
      try selection(["--shard", text])
    }
    #expect(error?.description.contains("such as 1/4") == true)
  }
}

/// Lines of lists that name local files.
@Suite struct LocalPathTests {
  private func lines(_ list: String, _ paths: LocalPaths?) throws -> [String] {
    var reader = ListReader(name: "list", paths: paths)
    return try (reader.feed(Array(list.utf8)) + reader.finish()).flatMap(\.texts)
  }

  @Test func `a path in a list is the whole line, relative to the list`() throws {
    let paths = LocalPaths(inList: "/nowhere/lists/today.txt")
    let read = try lines(
      "./a #1 100%.jpg\n../b?.jpg\n/c/./d.jpg\n//host.org/e.jpg\nf.org/g.jpg", paths)
    #expect(
      read == [
        "file:///nowhere/lists/a%20%231%20100%25.jpg#imgctl-0", "file:///nowhere/b%3F.jpg#imgctl-0",
        "file:///c/d.jpg#imgctl-0", "//host.org/e.jpg", "f.org/g.jpg",
      ])
    #expect(try read.prefix(3).map { try ImageURL(line: $0).text } == Array(read.prefix(3)))
    #expect(try ImageURL(line: read[0]).localPath == "/nowhere/lists/a #1 100%.jpg")
  }

  @Test func `a name without ./ is a path if a file has it, and if it cannot be a URL`() throws {
    let directory = TestDirectory()
    for name in ["a.jpg", "pictures/b 1.jpg", "example.org/c.jpg", "d.org"] {
      try FileManager.default.createDirectory(
        at: URL(filePath: directory.file(name)).deletingLastPathComponent(),
        withIntermediateDirectories: true)
      try FileIO.replace(path: directory.file(name), with: [])
    }
    let read = try lines(
      "a.jpg\npictures/b 1.jpg\nexample.org/c.jpg\nd.org\npictures\nnone.jpg\n",
      LocalPaths(inList: directory.file("list.txt")))
    #expect(
      read.map { HumanText.listed($0) } == [
        directory.file("a.jpg"), directory.file("pictures/b 1.jpg"), "example.org/c.jpg", "d.org",
        "pictures", "none.jpg",
      ])
    let failure = try #require(throws: Failure.self) { try ImageURL(line: read[5]) }
    #expect(failure.detail.contains("or for a file ./a.jpg in a list"))
  }

  @Test(arguments: [nil, LocalPaths()])
  func `a URL in a list names no file for the command`(paths: LocalPaths?) throws {
    #expect(
      try lines("file:///etc/a.jpg#imgctl-1-2\nFILE:/b.jpg#imgctl-", paths)
        == ["file:///etc/a.jpg", "FILE:/b.jpg"])
    if paths == nil { #expect(try lines("/etc/a.jpg", paths) == ["/etc/a.jpg"]) }
  }

  @Test func `a name that is not UTF-8 is a URL that is refused`() throws {
    let url = FileURL.text(ofPath: Array("/a".utf8) + [0xFF], state: [1])
    #expect(throws: Failure.self) { try ImageURL(line: url) }
  }

  @Test func `exported files keep their names below their common directory`() throws {
    let lines = files([
      "/home/p/x.jpg", "/home/p/a/b.c.heic", nil, "/home/p/X.png",
      "/home/p/\(String(repeating: "n", count: 230)).png",
    ])
    let names = try names(of: lines)
    #expect(names == ["x.jpg", "a/b.c.jpg", "0000002.jpg", "X-3.jpg", "0000004.jpg"])
  }

  @Test func `no exported file has the name of another, not even of one with a number`() throws {
    let lines = files(
      ["IMG-2.jpg", "IMG.heic", "IMG.jpg", "0000004.png"].map { "/home/p/\($0)" } + [nil])
    let names = try names(of: lines)
    #expect(names == ["IMG-2.jpg", "IMG.jpg", "IMG-2-2.jpg", "0000004.jpg", "0000004-4.jpg"])
  }

  @Test(arguments: [
    ("{id}", ["007.jpg", "_._etc_passwd.jpg", "007-2.jpg"]),
    ("{host}/{name}.{ext}", ["h/a b.c.jpg", "h/CON_.jpg", "none/no URL.jpg"]),
    (
      "x/{part}/{index:3}-{size}",
      ["x/0000/000-64x48.jpg", "x/0000/001-64x48.jpg", "x/0000/002-64x48.jpg"]
    ),
    (
      "{hash}",
      [
        "d1825fe4375b561ac3f0580ef2a2a0f3.jpg", "2ffd7ce688fecb5deccb3773996e6b80.jpg",
        "c503930187d811c40de00c7124d4eba7.jpg",
      ]
    ),
  ])
  func `a template names exported files, and leads nowhere else`(
    template: String, expected: [String]
  ) throws {
    let texts = ["https://h/p/a%20b.c.png?x/y", "https://h:8080/CON", "no URL"]
    let ids = ["007", "../etc/passwd", "007"]
    let lines = zip(texts, ids).enumerated().map { index, line in
      LineResult(
        index: index, ListLine(line.0, columns: LineColumns(texts: [line.1]) ?? .none), nil)
    }
    let names = try names(of: lines, NameTemplate(parsing: template), columns: ["id"])
    #expect(names == expected)
  }

  @Test(arguments: [
    "a", "{id", "id}", "{}", "/{id}", "{id}/", "../{id}", "{ext}", "{ext}/{id}", "{index:0}",
    "{index:x}",
  ])
  func `a template that names no file is refused`(template: String) {
    #expect(throws: InvalidValue.self) { try NameTemplate(parsing: template) }
  }

  @Test func `a name is one that all file systems take`() {
    let long = String(repeating: "\u{E9}", count: 200)
    let names = [
      "a": "a", "..": "_", ".hidden": "_hidden", "a. .": "a", "": "_", "nul": "nul_",
      "a\0\u{1B}b": "a__b",
      "a:b\\c?": "a_b_c_", "lpt1": "lpt1_", "a/b": "a/b",
    ]
    for (text, name) in names { #expect(NameTemplate.safe(text) == name, "\(text)") }
    let short = NameTemplate.safe(long)
    #expect(short.utf8.count < 210 && short.hasPrefix("\u{E9}\u{E9}"))
    #expect(short != NameTemplate.safe(long + "x"))
  }

  @Test func `many files are in directories of a thousand`() throws {
    var names = try ExportNames(nil, columns: [], lineCount: 10_001, hasSeveralSizes: true)
    let line = LineResult(index: 9_999, ListLine("https://h/1.jpg"), nil)
    names.add(line)
    #expect(names.name(of: line, size: "6x4", suffix: "png") == "0009/0009999-6x4.png")
  }

  /// Lines of local files that the command has read; `nil` is a URL.
  private func files(_ paths: [String?]) -> [LineResult] {
    paths.enumerated().map { index, path in
      let text = path.map { FileURL.text(ofPath: Array($0.utf8), state: [1]) } ?? "https://h/1.jpg"
      return LineResult(index: index, ListLine(text), nil)
    }
  }

  private func names(
    of lines: [LineResult], _ template: NameTemplate? = nil, columns: [String] = []
  ) throws -> [String] {
    var names = try ExportNames(
      template, columns: columns, lineCount: lines.count, hasSeveralSizes: false)
    for line in lines { names.add(line) }
    // A name does not depend on those that were asked for before.
    return lines.reversed().map { names.name(of: $0, size: "64x48", suffix: "jpg") }.reversed()
  }
}
