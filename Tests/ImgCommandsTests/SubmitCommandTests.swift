import FoundationEssentials
import Glibc
import ImgModel
import ImgSettings
import ImgSystem
import ImgWire
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

@Suite struct ListReaderTests {
  /// The entries of a list that comes in chunks of `chunkByteCount`.
  private func entries(_ bytes: [UInt8], by chunkByteCount: Int = .max) throws(ListError)
    -> [String]
  {
    var reader = ListReader(name: "list")
    var batches: [ListLines] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      batches += try reader.feed(Array(rest.prefix(chunkByteCount)))
      rest = rest.dropFirst(chunkByteCount)
    }
    batches += try reader.finish()
    return batches.flatMap(\.texts)
  }

  private func entries(_ text: String) throws(ListError) -> [String] {
    try entries(Array(text.utf8))
  }

  @Test func `a line is an entry without surrounding white space`() throws {
    #expect(try entries("a\n  b\t\r\n\u{B}c \u{C}\n") == ["a", "b", "c"])
  }

  @Test func `the last line needs no line feed`() throws {
    #expect(try entries("a\nb") == ["a", "b"])
  }

  @Test func `empty lines and comments are ignored`() throws {
    #expect(try entries("\n\n# c\n  \t\r\n  # c\na#b\n#") == ["a#b"])
    #expect(try entries("") == [])
  }

  @Test(arguments: [1, 3, 1 << 20])
  func `an entry has the number of its line, and empty lines and comments count`(
    chunkByteCount: Int
  ) throws {
    var reader = ListReader(name: "list", list: 2)
    var rest = Array("\u{FEFF}a\n\r\n# c\nb\nc\n\n d".utf8)[...]
    var batches: [ListLines] = []
    while !rest.isEmpty {
      batches += try reader.feed(Array(rest.prefix(chunkByteCount)))
      rest = rest.dropFirst(chunkByteCount)
    }
    batches += try reader.finish()
    let lines = try #require(batches.first)
    #expect(
      lines.texts.indices.map(lines.place)
        == [1, 4, 5, 7].map { LinePlace(line: $0, list: 2) })
    #expect(lines.starts.map(\.offset) == [0, 1, 3], "lines that follow each other need no number")
  }

  @Test func `a byte order mark is ignored`() throws {
    #expect(try entries("\u{FEFF}a\n\u{FEFF}b\n") == ["a", "\u{FEFF}b"])
    #expect(try entries("\u{FEFF} # c\na") == ["a"])
  }

  @Test func `bytes that are not UTF-8 are replaced`() throws {
    #expect(try entries([0x61, 0xFF, 0x62, 0x0A, 0x63]) == ["a\u{FFFD}b", "c"])
  }

  @Test func `chunks of any size give the same entries`() throws {
    let text =
      "\u{FEFF}  first \r\n# comment\n\n\tsecond\u{E9} \nthird\n" + longLine(9_000) + "\nlast"
    let whole = try entries(text)
    #expect(whole.count == 5)
    for chunkByteCount in 1...17 {
      #expect(try entries(Array(text.utf8), by: chunkByteCount) == whole)
    }
  }

  private func longLine(_ byteCount: Int) -> String {
    String(repeating: "x", count: byteCount)
  }

  @Test(arguments: [8_191, 8_192, 8_193, 8_194, 100_000], [7, 8_192, 1 << 20])
  func `a line too long for a URL is truncated to one byte more than a URL`(
    byteCount: Int, chunkByteCount: Int
  ) throws {
    for mark in ["", "\u{FEFF}"] {
      let text = mark + "   " + longLine(byteCount) + "   \nnext"
      #expect(
        try entries(Array(text.utf8), by: chunkByteCount)
          == [longLine(min(byteCount, 8_193)), "next"])
    }
  }

  @Test(arguments: [1, 1_000, 1 << 20])
  func `white space does not hide that a line is too long`(chunkByteCount: Int) throws {
    let text = "a" + String(repeating: " ", count: 9_000) + "b\nnext"
    let found = try entries(Array(text.utf8), by: chunkByteCount)
    #expect(found.map(\.utf8.count) == [8_193, 4])
    #expect(throws: Failure.self) { try ImageURL(parsing: found[0]) }
  }

  @Test(arguments: [1, 1_000, 1 << 20])
  func `white space alone does not make a line too long`(chunkByteCount: Int) throws {
    let blanks = String(repeating: " ", count: 9_000)
    #expect(
      try entries(Array((blanks + "a" + blanks + "\n" + blanks).utf8), by: chunkByteCount) == ["a"])
  }

  @Test(arguments: [0, 100, 4_095])
  func `a zero byte near the start is refused with its line`(offset: Int) {
    let bytes = [UInt8](repeating: 0x0A, count: offset) + [0]
    for chunkByteCount in [64, 1 << 20] {
      #expect(throws: ListError.notText(name: "list", line: offset + 1)) {
        try entries(bytes, by: chunkByteCount)
      }
    }
    #expect(
      ListError.notText(name: "a.jpg", line: 1).description
        == "a.jpg is not a text file (line 1); a list has one URL a line")
  }

  @Test(
    arguments: [
      [0xFF, 0xFE], [0xFE, 0xFF], [0x68, 0, 0x74, 0], [0, 0x68, 0, 0x74],
    ] as [[UInt8]])
  func `a list in UTF-16 is said to be that`(start: [UInt8]) {
    #expect(throws: ListError.utf16(name: "list")) { try entries(start + [0x68, 0]) }
  }

  @Test func `a zero byte further on belongs to its line`() throws {
    #expect(try entries([UInt8](repeating: 0x0A, count: 4_096) + [0x61, 0]) == ["a\0"])
  }

  @Test func `a batch has as many lines as fit a frame`() throws {
    var reader = ListReader(name: "list")
    let batches = try reader.feed(Array(String(repeating: "a\n", count: 2_500).utf8))
    #expect(batches.map(\.count) == [1_000, 1_000])
    #expect(try reader.finish().map(\.count) == [500])
    #expect(try reader.finish().isEmpty)
  }

  @Test func `a batch has as many bytes as fit a frame`() throws {
    var reader = ListReader(name: "list")
    // Each byte of these lines becomes the three of U+FFFD, and a line is cut at the length of a URL.
    let line = [UInt8](repeating: 0xFF, count: 8_000) + [0x0A]
    var batches = try reader.feed(Array(repeatElement(line, count: 20).joined()))
    batches += try reader.finish()
    #expect(batches.map(\.count) == [15, 5])
    for batch in batches {
      let byteCount = batch.texts.map(\.utf8.count).reduce(0, +)
      #expect(byteCount <= Submission.maximumByteCount)
    }
  }
}

/// Tables among the lists.
@Suite struct DelimitedTableTests {
  private func advice(on text: String) -> String? {
    DelimitedTable(text.split(separator: "\n"))?.advice(for: "my pics.csv")
  }

  @Test(arguments: [
    ("url,id,caption\nhttp://h/1,p1,A dog\nhttp://h/2,p2,\"Two,\ndogs\"\n", 0, "", true),
    ("id,url\np1,http://h/1\n", 1, "", true), ("p1,http://h/1\np2,http://h/2", 1, "", false),
    ("\"url\";\"id\"\n\"http://h/1.jpg\";\"p1\"\n", 0, #", delimiter=";""#, true),
    ("\"http://h/1.jpg\",\"p1\"", 0, "", false),
    ("# pictures\nhttp://h/1.jpg,a\nhttp://h/2.PNG,b", 0, "", false),
    ("http://h/1,A dog\nhttp://h/2,A cat", 0, "", false),
    ("http://h/1\tA, dog\nhttp://h/2\tB\nhttp://h/3", 0, #", delimiter="\t""#, false),
  ])
  func `a table is refused with the line that makes a list of it`(
    text: String, column: Int, delimiter: String, hasHeader: Bool
  ) throws {
    let recipe =
      "python3 -c 'import csv, sys; r = csv.reader(sys.stdin\(delimiter)); \(hasHeader ? "next(r); " : "")"
      + "[print(*x[\(column):\(column + 1)]) for x in r]' < 'my pics.csv' > list.txt"
    #expect(
      advice(on: text)
        == "\(delimiter.contains("t\"") ? "TSV" : "CSV"), and a list has one URL a line; this makes "
        + "one of column \(column + 1): \(recipe)")
  }

  @Test(arguments: [
    "", "http://h/1.jpg", "http://h/w_1,h_2/1.jpg\nhttp://h/w_1,h_2/2.jpg", "http://h/a.jpg,b",
    "http://h/a.jpg;jsessionid=1\nhttp://h/b.jpg;jsessionid=2", "h.org/a,b.jpg\nh.org/c,d.jpg",
    "http://h/?u=http://i/a,http://j/b\nhttp://h/?u=http://i/c,d", "./a, b.jpg\n./c, d.jpg",
    "http://h/1.jpg\nhttp://h/2.jpg\tcaption\nhttp://h/3.jpg",
    "data:image/gif;base64,R0==\ndata:,a",
  ])
  func `a list stays one if its URLs contain separators`(text: String) {
    #expect(advice(on: text) == nil)
  }

  @Test func `a table is refused before a batch of it, however it arrives`() {
    let text = "id,url\n" + (0..<2_000).map { "\($0),http://h/\($0).jpg\n" }.joined()
    for chunkByteCount in [7, 1 << 20] {
      var reader = ListReader(name: "list")
      var rest = Array(text.utf8)[...]
      #expect {
        while !rest.isEmpty {
          let batches = try reader.feed(Array(rest.prefix(chunkByteCount)))
          #expect(batches.isEmpty)
          rest = rest.dropFirst(chunkByteCount)
        }
      } throws: { "\($0)".hasPrefix("list is CSV, and a list has one URL a line") }
    }
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

  @Test func `exported files keep their names below their common directory`() {
    func line(_ path: String) -> String { FileURL.text(ofPath: Array(path.utf8), state: [1]) }
    let lines = [
      line("/home/p/x.jpg"), line("/home/p/a/b.c.heic"), "https://h/1.jpg", line("/home/p/x.png"),
      line("/home/p/\(String(repeating: "n", count: 230)).png"),
    ]
    var names = ExportNames()
    for (index, line) in lines.enumerated() { names.add(line, at: index) }
    let found = lines.indices.map { names.name(of: lines[$0], at: $0, ending: ".jpg") }
    #expect(found == ["x.jpg", "a/b.c.jpg", "0000002.jpg", "x-3.jpg", "0000004.jpg"])
    #expect(names.name(of: lines[0], at: 0, ending: ".jpg") == "x.jpg")
  }

  @Test func `no exported file has the name of another, not even of one with a number`() {
    let lines =
      ["IMG-2.jpg", "IMG.heic", "IMG.jpg", "0000004.png"].map {
        FileURL.text(ofPath: Array("/home/p/\($0)".utf8), state: [1])
      } + ["https://h/1.jpg"]
    var names = ExportNames()
    for (index, line) in lines.enumerated() { names.add(line, at: index) }
    let expected = ["IMG-2.jpg", "IMG.jpg", "IMG-2-2.jpg", "0000004.jpg", "0000004-4.jpg"]
    for index in lines.indices.reversed() {
      #expect(names.name(of: lines[index], at: index, ending: ".jpg") == expected[index])
    }
  }
}
