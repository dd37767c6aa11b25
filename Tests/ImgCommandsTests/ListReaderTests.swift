import ImgModel
import ImgWire
import Testing

@testable import ImgCommands

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
    #expect(
      try entries([UInt8](repeating: 0x0A, count: ListReader.inspectedByteCount) + [0x61, 0]) == [
        "a\0"
      ])
  }

  @Test func `a batch has as many lines as fit a frame`() throws {
    var reader = ListReader(name: "list")
    let batches = try reader.feed(Array(String(repeating: "a\n", count: 10_500).utf8))
    #expect(batches.map(\.count) == Array(repeating: 1_000, count: 10))
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

/// Lists in other formats than text.
@Suite struct ListFormatTests {
  /// What a list becomes.
  private struct Read: Equatable {
    var entries: [String] = []
    var lines: [Int] = []
    var description: String?
  }

  private func read(
    _ text: String, as format: ListFormat = ListFormat(), name: String = "list",
    by chunkByteCount: Int = .max
  ) throws(ListError) -> Read {
    var reader = ListReader(name: name, as: format)
    var batches: [ListLines] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      batches += try reader.feed(Array(rest.prefix(chunkByteCount)))
      rest = rest.dropFirst(chunkByteCount)
    }
    batches += try reader.finish()
    return Read(
      entries: batches.flatMap(\.texts),
      lines: batches.flatMap { batch in batch.texts.indices.compactMap { batch.place(of: $0)?.line }
      },
      description: reader.formatDescription)
  }

  @Test(arguments: [
    (
      "url,id,caption\r\nhttp://h/1,p1,A dog\r\nhttp://h/2,p2,\"Two,\ndogs\"\n\n\"http://h/3\",,\n",
      ["http://h/1", "http://h/2", "http://h/3"], [2, 3, 6],
      "CSV, with the URLs in column 1, \"url\""
    ),
    ("id,url\np1,http://h/1\n", ["http://h/1"], [2], "CSV, with the URLs in column 2, \"url\""),
    (
      "p1,http://h/1\np2,http://h/2", ["http://h/1", "http://h/2"], [1, 2],
      "CSV, with the URLs in column 2"
    ),
    (
      "\"Image_URL\";\"id\"\n\"http://h/a\"\"b.jpg\";\"p1\"\n", ["http://h/a\"b.jpg"], [2],
      "CSV, with the URLs in column 1, \"Image_URL\""
    ),
    ("\"http://h/1.jpg\",\"p1\"", ["http://h/1.jpg"], [1], "CSV, with the URLs in column 1"),
    (
      "# pictures\nhttp://h/1.jpg,a 5\" disk\nhttp://h/2.PNG,b",
      ["http://h/1.jpg", "http://h/2.PNG"], [2, 3],
      "CSV, with the URLs in column 1"
    ),
    (
      "http://h/1\tA, dog\nhttp://h/2\tB\nhttp://h/3", ["http://h/1", "http://h/2", "http://h/3"],
      [1, 2, 3],
      "TSV, with the URLs in column 1"
    ),
    (
      "sep=;\r\n# pictures, and pages\nurl;image_url\nhttp://h/;http://h/1\n", ["http://h/1"], [4],
      "CSV, with the URLs in column 2, \"image_url\""
    ),
    (
      "page,url\nhttp://h/,http://h/1\n#2,http://h/2\n", ["http://h/1", "http://h/2"], [2, 3],
      "CSV, with the URLs in column 2, \"url\""
    ),
    (
      "{\"id\": 1, \"url\": \"http://h/1\"}\n\n{\"url\": \"http:\\/\\/h\\/\\u0032\", \"id\": {\"url\": \"x\"}}",
      ["http://h/1", "http://h/2"], [1, 3], "JSON, with the URLs in \"url\""
    ),
    (
      " [\n{\"a\": \"],{\", \"URL\": \"http://h/1\"},\n {\"URL\": \"http://h/2\"}\n]\n",
      ["http://h/1", "http://h/2"],
      [2, 3], "JSON, with the URLs in \"URL\""
    ),
    (
      "[\"http://h/1\", \"http://h/2\"]", ["http://h/1", "http://h/2"], [1, 1],
      "JSON, each record a URL"
    ),
    (
      "{\"page\": \"http://h/\", \"images\": [{\"url\": \"http://h/1\"}]}", ["http://h/1"], [1],
      "JSON, with the URLs in \"images.0.url\""
    ),
  ])
  func `a table and JSON are recognised, in chunks of any size`(
    text: String, entries: [String], lines: [Int], description: String
  ) throws {
    for chunkByteCount in [1, 2, 7, .max] {
      let read = try read("\u{FEFF}" + text, by: chunkByteCount)
      #expect(read == Read(entries: entries, lines: lines, description: description))
    }
  }

  @Test func `a long table is read beyond its beginning`() throws {
    let urls = (0..<3_000).map { "http://h/\($0).jpg" }
    let text = "id,url\n" + urls.map { "7,\($0)\n" }.joined()
    for chunkByteCount in [1_000, 1 << 20] {
      let read = try read(text, by: chunkByteCount)
      #expect(read.entries == urls)
      #expect(read.lines == Array(2...3_001))
    }
  }

  @Test(arguments: [
    "", "http://h/1.jpg", "http://h/w_1,h_2/1.jpg\nhttp://h/w_1,h_2/2.jpg", "http://h/a.jpg,b",
    "http://h/a.jpg;jsessionid=1\nhttp://h/b.jpg;jsessionid=2", "h.org/a,b.jpg\nh.org/c,d.jpg",
    "http://h/?u=http://i/a,http://j/b\nhttp://h/?u=http://i/c,d", "./a, b.jpg\n./c, d.jpg",
    "http://h/1.jpg\nhttp://h/2.jpg\tcaption\nhttp://h/3.jpg",
    "http://h/1.jpg a dog\nhttp://h/2.jpg a cat",
    "data:image/gif;base64,R0==\ndata:,a",
  ])
  func `a list stays one if its URLs contain separators`(text: String) throws {
    let read = try read(text, name: "list.csv")
    #expect(read.description == nil)
    #expect(read.entries == text.split(separator: "\n").map(String.init))
  }

  @Test func `a file named as a table may have one column, whose URLs contain commas`() throws {
    let read = try read("url\nhttp://h/w_1,h_2/1.jpg\n\"http://h/2.jpg\"\n", name: "a.CSV")
    #expect(read.entries == ["http://h/w_1,h_2/1.jpg", "http://h/2.jpg"])
    #expect(read.description == "CSV, with the URLs in column 1, \"url\"")
  }

  @Test(arguments: [
    ("a,b\nhttp://h/1,http://h/2", "B", "http://h/2"), ("http://h/1,http://h/2", "2", "http://h/2"),
    ("b,2\nhttp://h/1,http://h/2", "2", "http://h/2"), ("x;y\nh.org/1;h.org/2", "y", "h.org/2"),
    ("{\"a\": \"http://h/1\", \"b\": {\"c\": [\"x\", \"http://h/2\"]}}", "b.c.1", "http://h/2"),
    ("{\"a\": \"http://h/1\", \"b.c\": \"http://h/2\"}", "b.c", "http://h/2"),
  ])
  func `the column of the URLs may be named`(text: String, column: String, url: String) throws {
    #expect(try read(text, as: ListFormat(.recognized, urlColumn: column)).entries == [url])
  }

  /// The columns of a list, and what its lines have in them.
  private func columns(
    of text: String, _ columns: ListFormat.Columns, by chunkByteCount: Int = .max
  ) throws -> (names: [String], values: [String]) {
    var reader = ListReader(name: "list", as: ListFormat(.recognized, columns: columns))
    var batches: [ListLines] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      batches += try reader.feed(Array(rest.prefix(chunkByteCount)))
      rest = rest.dropFirst(chunkByteCount)
    }
    batches += try reader.finish()
    return (reader.columnNames ?? [], batches.flatMap { $0.columns.map(\.json) })
  }

  @Test(arguments: [
    (
      "id,url,Caption\n007,http://h/1,\"a \"\"b\"\",\nc\"\n8,http://h/2\n", ListFormat.Columns.all,
      ["id", "Caption"], [#"["007","a \"b\",\nc"]"#, #"["8",""]"#]
    ),
    (
      "id,url,Caption\n007,http://h/1,x\n8,,y\n", .named(["caption", "1"]), ["caption", "id"],
      [#"["x","007"]"#, #"["y","8"]"#]
    ),
    ("a\thttp://h/1\nb\thttp://h/2\n", .all, ["1"], [#"["a"]"#, #"["b"]"#]),
    ("url,,x,x\nhttp://h/1,a,b,c\n", .all, ["2", "x", "4"], [#"["a","b","c"]"#]),
    (
      "{\"url\": \"http://h/1\", \"n\": 7, \"t\": {\"a\": [1, \"é\"]}, \"m\": null}\n"
        + "{\"url\":\"http://h/2\",\"x\":true}\n",
      .all, ["n", "t", "m", "x"],
      [#"[7,{"a": [1, "é"]},null,null]"#, "[null,null,null,true]"]
    ),
    (
      "[{\"i\": {\"url\": \"http://h/1\", \"w\": 5}, \"a.b\": \"c\"}, 7]", .named(["i.w", "a.b"]),
      ["i.w", "a.b"], [#"[5,"c"]"#, "[null,null]"]
    ),
  ])
  func
    `columns stay with their lines, texts of a table as they are and values of JSON with their types`(
      text: String, columns: ListFormat.Columns, names: [String], values: [String]
    ) throws
  {
    for chunkByteCount in [1, 7, .max] {
      let read = try self.columns(of: text, columns, by: chunkByteCount)
      #expect(read.names == names)
      #expect(read.values == values)
    }
  }

  @Test func `columns that no list can have are refused, and long ones fail their row alone`()
    throws
  {
    let table = "id,url\n1,http://h/1\n"
    for (text, columns, reason) in [
      (
        table, ListFormat.Columns.named(["caption"]),
        "has no column or member \"caption\"; it has id, url"
      ),
      ("{\"url\":\"http://h/1\"}", .named(["a.b"]), "no column or member \"a.b\"; it has url"),
      ("http://h/1\n", .all, "has one URL a line, and no columns"),
      (
        "url" + (0..<1_001).map { ",\($0)x" }.joined() + "\nhttp://h/1"
          + String(repeating: ",", count: 1_001),
        .all, "has 1001 columns"
      ),
    ] {
      let error = #expect(throws: ListError.self) { try self.columns(of: text, columns) }
      #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    }
    let long = String(repeating: "x", count: LineColumns.maximumByteCount)
    var reader = ListReader(name: "list", as: ListFormat(.recognized, columns: .all))
    let read =
      try reader.feed(Array("\(table)\(long),http://h/2\n3,http://h/3\n".utf8)) + reader.finish()
    let entries = read.flatMap(\.texts)
    #expect(entries.count == 3 && entries.last == "http://h/3")
    #expect(read.flatMap { $0.columns.map(\.json) } == ["[\"1\"]", "", "[\"3\"]"])
    let failure = #expect(throws: Failure.self) { try ImageURL(listed: entries[1]) }
    #expect(failure?.detail == "the columns of this row have more than 64 KiB")
  }

  @Test func `a row without a URL is an entry that fails`() throws {
    let rows = [
      ("id,url,c\n1,http://h/1,\n2,,\"a\nb\"\n3\n", ["no URL in: 2,,\"a b\"", "no URL in: 3"]),
      (
        "{\"url\": \"http://h/1\"}\n{\"url\": 7}\n{\"url\": \"http",
        ["no URL in: {\"url\": 7}", "no URL in: {\"url\": \"http"]
      ),
    ]
    for (text, missing) in rows {
      let read = try read(text)
      #expect(read.entries == ["http://h/1"] + missing)
      for entry in missing {
        let failure = #expect(throws: Failure.self) { try ImageURL(listed: entry) }
        #expect(failure?.code == .invalidURL)
        #expect(failure?.detail == "this row of the list has no URL")
      }
    }
  }

  @Test func `records longer than what is inspected first are read`() throws {
    let long = String(repeating: "x", count: ListReader.inspectedByteCount * 3)
    let table = (1...3).map { "\"\(long)\",http://h/\($0)\n" }.joined()
    let json = (1...3).map { "{\n\"a\": \"\(long)\",\n\"url\": \"http://h/\($0)\"}\n" }
    for text in ["text,url\n" + table, json.joined(), "[" + json.joined(separator: ",") + "]"] {
      #expect(try read(text, by: 1_000).entries == (1...3).map { "http://h/\($0)" })
    }
    let element = #"[{"images": [{"url": "http://h/1"}, {"url": "http://h/2"}]}]"#
    #expect(try read(element).entries == ["http://h/1"])
  }

  @Test func `a record of any length costs no more memory than its limit`() throws {
    let long = String(repeating: "x", count: TableRecords.maximumByteCount * 2)
    let table = try read("id,url\n\(long),http://h/1\n2,http://h/2\n")
    #expect(table.entries.count == 2)
    #expect(table.entries.last == "http://h/2")
    #expect(table.entries.allSatisfy { $0.utf8.count < 200 })
    let json = try read("{\"url\":\"http://h/1\"}\n{\"a\":\"\(long)\"}\n{\"url\":\"http://h/3\"}")
    #expect(json.entries.count == 3)
    #expect(json.entries.last == "http://h/3")
  }

  @Test(arguments: [
    (
      "a_url,b\nhttp://h/1,http://h/2", nil, " has URLs in a_url, b; --url-column names one of them"
    ),
    (
      "p,http://h/1,http://h/2\nq,http://h/3,x", nil,
      " has URLs in 2, 3; --url-column names one of them"
    ),
    ("a,url,b\nhttp://h/1,x,", "c", " has no column or member \"c\"; it has a, url, b"),
    ("#id,url\n1,x", "3", " has no column or member \"3\"; it has #id, url"),
    (
      "\"url\",\"page\"\n\"1\",\"http://h/1\",\"x\"\n", nil,
      " has 2 names in its header and 3 fields in its records; --url-column N names the column by its number from 1"
    ),
    (
      "My pictures\nid|caption|url\n1|A|http://h/1\n2|B|http://h/2\n3|C|http://h/3", nil,
      ", line 3: the URL stands behind other text; a list has one URL a line, or is a table with commas, semicolons or tabs"
    ),
    (
      "id,url\rp1,http://h/1\r", nil,
      ": its lines end with CR alone, as on old Macintoshes; tr '\\r' '\\n' < FILE | imgctl submit - reads it"
    ),
    ("{\"a\": \"http://h\"}", "b", " has no column or member \"b\"; it has a"),
    ("{\"a\": {\"b\": \"http://h\"}}", "a.c", " has no column or member \"a.c\"; it has a"),
    (
      "{\"a\": 1, \"b\": \"x\"}", nil,
      " has no column or member with URLs in its first 1 records; it has a, b, of which --url-column names one"
    ),
    (
      "{\n \"photos\": [\n{\"url\": \"http://h/1\"},\n{\"url\": \"http://h/2\"}\n]\n}\n", nil,
      " is one value of JSON with the list in it; jq takes that out: jq -c '.photos[]' FILE | imgctl submit -"
    ),
    (
      "{\"p1\": {\"url\": \"http://h/1\"}, \"p2\": {\"url\": \"http://h/2\"}}", nil,
      " is one value of JSON with the list in it; jq takes that out: jq -c '.[]' FILE | imgctl submit -"
    ),
    ("[{\"url\": \"http://h/1\"},", nil, ", line 1: the JSON array has no end"),
    ("[\"http://h/1\"]\n[]", nil, ", line 2: more than one value of JSON"),
    (
      "PAR1\0", nil,
      " is Parquet; duckdb makes a list of it: duckdb -jsonlines -c \"SELECT * FROM 'list'\" | imgctl submit -"
    ),
    ("\u{1F}\u{8B}\0", nil, nil),
  ])
  func `what is not in its format is refused with its place`(
    text: String, column: String?, reason: String?
  ) {
    let error = #expect(throws: ListError.self) {
      try read(text, as: ListFormat(.recognized, urlColumn: column), by: 10_000)
    }
    if let reason { #expect(error?.description == "list" + reason) }
  }

  @Test func `a record with a quotation mark too many takes no other with it`() throws {
    let rows = (0..<40_000).map {
      $0 == 7 ? "7,\"a 5 inch nail,http://h/7" : "\($0),A nail,http://h/\($0)"
    }
    for chunkByteCount in [5_000, .max] {
      let read = try read("id,caption,url\n" + rows.joined(separator: "\n"), by: chunkByteCount)
      #expect(read.entries.count == 40_000)
      #expect(read.entries[7] == "no URL in: 7,\"a 5 inch nail,http://h/7")
      #expect(read.entries[8] == "http://h/8")
      #expect(read.lines == Array(2...40_001))
    }
    let closed = try read(
      "id,caption,url\n1,\"A,http://h/1\n2,\"B, or C\",http://h/2\n3,\"\"\"D\"\" or\nE\",http://h/3\n"
    )
    #expect(closed.entries == ["no URL in: 1,\"A,http://h/1", "http://h/2", "http://h/3"])
    #expect(closed.lines == [2, 3, 4])
  }

  @Test func `a broken record of JSON takes no other with it, and a record may have several lines`()
    throws
  {
    let read = try read(
      "{\"url\":\n  \"http://h/1\",\n\"b\": [\n{\"c\": 1}]}\n{broken\n{\"url\": \"http://h/2\"}\n{\"url\": \"htt\n{\"url\": "
        + "\"http://h/3\"}\n")
    #expect(
      read.entries == [
        "http://h/1", "no URL in: {broken ", "http://h/2", "no URL in: {\"url\": \"htt",
        "http://h/3",
      ])
    #expect(read.lines == [1, 5, 6, 7, 8])
  }

  @Test func `a list that is named JSON has to be that`() {
    #expect(throws: ListError.format(name: "list", .notJSON)) {
      try read("http://h/1", as: ListFormat(.json))
    }
  }
}
