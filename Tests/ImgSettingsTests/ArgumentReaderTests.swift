import ImgSettings
import Testing

@Suite struct ArgumentReaderTests {
  private static let size = OptionDescription("--size", "WxH", help: "The box.")
  private static let output = OptionDescription("--output", short: "-o", "FILE", help: "Where to.")
  private static let wait = OptionDescription("--wait", short: "-w", help: "Wait.")
  private static let network = OptionDescription(
    "--network", "CIDR", help: "A network.", isRepeatable: true)
  private static let crop = OptionDescription(
    "--crop", short: "-c", "PART", help: "Crop.", impliedValue: "centre")
  private static let list = OperandDescription("LIST", help: "The list.")
  private static let extra = OperandDescription("EXTRA", .optional, help: "More.")
  private static let command = CommandDescription(
    name: "tool put", summary: "put a list", operands: [list, extra],
    options: [size, output, wait, network, crop])

  private func read(_ arguments: String...) throws(UsageError) -> ArgumentReader {
    try ArgumentReader(arguments, for: Self.command)
  }

  @Test func `a value follows its flag or an equals sign`() throws {
    #expect(try read("a", "--size", "3x4").texts(of: Self.size) == ["3x4"])
    #expect(try read("--size=3x4", "a").texts(of: Self.size) == ["3x4"])
    #expect(try read("--size=a=b", "a").texts(of: Self.size) == ["a=b"])
    #expect(try read("--size=", "a").texts(of: Self.size) == [""])
  }

  @Test(arguments: [
    (["--crop", "a"], "centre"), (["--crop=top", "a"], "top"), (["-c", "a"], "centre"),
    (["-ctop", "a"], "top"), (["-wc", "a"], "centre"), (["--crop=", "a"], ""),
  ])
  func `the value of an option that may have none stands in the same argument`(
    arguments: [String], value: String
  ) throws {
    let reader = try ArgumentReader(arguments, for: Self.command)
    #expect(reader.texts(of: Self.crop) == [value])
    #expect(reader.text(of: Self.list) == "a")
  }

  @Test func `usage shows that a value may be missing`() {
    #expect(Self.crop.usage == "-c, --crop[=PART]")
    #expect(Self.output.usage == "-o, --output FILE")
  }

  @Test func `an option's two flags share one value`() throws {
    #expect(try read("-o", "x", "a").texts(of: Self.output) == ["x"])
    #expect(try read("-o", "x", "--output=y", "a").texts(of: Self.output) == ["y"])
  }

  @Test(arguments: [["-ox"], ["-o=x"], ["-o", "x"], ["-wox"], ["-wo=x"], ["-wo", "x"], ["-wwox"]])
  func `a short option's value may be attached, and options combined`(arguments: [String]) throws {
    let reader = try ArgumentReader(["a"] + arguments, for: Self.command)
    #expect(reader.texts(of: Self.output) == ["x"])
    #expect(reader.contains(Self.wait) == arguments[0].contains("w"))
  }

  @Test func `an attached value is not interpreted`() throws {
    #expect(try read("a", "-o--size=a=b").texts(of: Self.output) == ["--size=a=b"])
    #expect(try read("a", "-o=").texts(of: Self.output) == [""])
    #expect(try read("a", "-owh").texts(of: Self.output) == ["wh"])
  }

  @Test func `the last value of a repeated option counts`() throws {
    let reader = try read("--size=1", "a", "--wait", "--size", "2", "--wait")
    #expect(reader.texts(of: Self.size) == ["2"])
    #expect(reader.contains(Self.wait))
  }

  @Test func `a value may begin with one dash`() throws {
    #expect(try read("a", "-o", "-").texts(of: Self.output) == ["-"])
    #expect(try read("a", "--size", "-2").texts(of: Self.size) == ["-2"])
  }

  @Test func `options and operands may alternate`() throws {
    let reader = try read("a", "--wait", "b")
    #expect(reader.contains(Self.wait))
    #expect(!reader.lists(.help))
    #expect(reader.text(of: Self.list) == "a")
    #expect(reader.texts(of: Self.extra) == ["b"])
  }

  @Test func `options that were not given are absent`() throws {
    let reader = try read("a")
    #expect(!reader.contains(Self.wait))
    #expect(reader.texts(of: Self.size) == nil)
    #expect(reader.texts(of: Self.extra).isEmpty)
  }

  @Test func `a single dash is an operand`() throws {
    #expect(try read("-").text(of: Self.list) == "-")
  }

  @Test func `a negative number is an operand`() throws {
    let reader = try read("-2", "-17")
    #expect(reader.text(of: Self.list) == "-2")
    #expect(reader.texts(of: Self.extra) == ["-17"])
    #expect(throws: UsageError("unknown option \"-2x\"; see tool put --help")) {
      try read("a", "-2x")
    }
  }

  @Test func `after two dashes everything is an operand`() throws {
    let reader = try read("--", "--wait", "--")
    #expect(!reader.contains(Self.wait))
    #expect(reader.text(of: Self.list) == "--wait")
    #expect(reader.texts(of: Self.extra) == ["--"])
  }

  @Test func `a repeatable option keeps every value in order`() throws {
    let reader = try read("--network", "a", "x", "--network=b")
    #expect(reader.texts(of: Self.network) == ["a", "b"])
  }

  @Test func `a repeatable operand takes all remaining arguments`() throws {
    let urls = OperandDescription("URL", .many, help: "The URLs.")
    let command = CommandDescription(name: "t", summary: "s", operands: [urls])
    #expect(try ArgumentReader(["a", "b"], for: command).texts(of: urls) == ["a", "b"])
    #expect(throws: UsageError("URL is missing: t URL...")) {
      try ArgumentReader([], for: command)
    }
  }

  @Test func `an optional repeatable operand takes none or all`() throws {
    let jobs = OperandDescription("JOB", .any, help: "The jobs.")
    let command = CommandDescription(name: "t", summary: "s", operands: [jobs])
    #expect(command.synopsis == "t [JOB...]")
    #expect(try ArgumentReader([], for: command).texts(of: jobs).isEmpty)
    #expect(try ArgumentReader(["a", "b"], for: command).texts(of: jobs) == ["a", "b"])
  }

  @Test func `--help takes precedence over other errors`() throws {
    #expect(try read("--help").isHelpRequested)
    #expect(try read("-h", "--bogus").isHelpRequested)
    #expect(try read("-wh").isHelpRequested)
    #expect(try !read("--", "--help").isHelpRequested)
  }

  @Test(arguments: [
    (["a", "--siez", "3"], "unknown option \"--siez\"; did you mean --size?"),
    (["a", "--net=3"], "unknown option \"--net\"; did you mean --network?"),
    (["a", "-x"], "unknown option \"-x\"; see tool put --help"),
    (["a", "--size"], "--size needs a value: --size WxH"),
    (["a", "-o"], "-o needs a value: -o FILE"),
    (["a", "--size", "--wait"], "--size needs a value: --size WxH"),
    (["a", "--wait=yes"], "--wait takes no value"),
    (["a", "-w=yes"], "-w takes no value"),
    (["a", "-wx"], "unknown option \"-x\"; see tool put --help"),
    (["a", "-xw"], "unknown option \"-xw\"; see tool put --help"),
    (["a", "-wo"], "-o needs a value: -o FILE"),
    (["a", "-size"], "unknown option \"-size\"; did you mean --size?"),
    (["--wait"], "LIST is missing: tool put LIST [EXTRA] [options]"),
    (["a", "b", "c"], "unexpected argument \"c\": tool put LIST [EXTRA] [options]"),
  ])
  func `a wrong command line is refused with a sentence`(arguments: [String], sentence: String) {
    #expect(throws: UsageError(sentence)) {
      try ArgumentReader(arguments, for: Self.command)
    }
  }

  @Test func `an invalid value is refused with its flag`() throws {
    let reader = try read("a", "--size", "big")
    #expect(throws: UsageError("--size: no")) {
      try reader.value(of: Self.size) { (_) throws(InvalidValue) -> Int in
        throw InvalidValue("no")
      }
    }
  }

  @Test func `the help lists everything within 80 columns`() {
    let command = CommandDescription(
      name: "tool put", summary: "put a list",
      operands: [Self.list],
      options: [
        Self.output,
        OptionDescription(
          "--a-rather-long-flag", "PLACEHOLDER",
          help: "A help text that does not fit beside its flag and is wrapped over lines."),
      ],
      notes: ["A note."],
      examples: [.init("tool put list.txt", "Puts the list.")])
    #expect(
      command.help == """
        tool put: put a list

        Usage:
          tool put LIST [options]

        Operands:
          LIST  The list.

        Options:
          -o, --output FILE         Where to.
          --a-rather-long-flag PLACEHOLDER
                                    A help text that does not fit beside its flag and is
                                    wrapped over lines.
          -h, --help                Show this help.

        A note.

        Examples:
          tool put list.txt
              Puts the list.

        """)
  }
}

@Suite struct SpellingTests {
  private static let words = ["submit", "status", "start", "stop", "get", "list", "cache"]

  @Test(arguments: [
    ("statsu", "status"), ("sumbit", "submit"), ("gte", "get"), ("lst", "list"), ("c", "cache"),
    ("cach", "cache"), ("liist", "list"),
  ])
  func `a typing error is recognised`(word: String, meant: String) {
    #expect(Spelling.nearest(to: word, among: Self.words) == meant)
  }

  @Test(arguments: ["", "frobnicate", "xy", "s"])
  func `a distant or ambiguous word has no suggestion`(word: String) {
    #expect(Spelling.nearest(to: word, among: Self.words) == nil)
  }

  @Test(arguments: [("fil", "fill"), ("fill", "fill"), ("fill-", "fill-down")])
  func `the shortest of words that continue each other is meant`(word: String, meant: String) {
    let words = ["fit", "fill", "fill-down"]
    #expect(Spelling.nearest(to: word, among: words) == meant)
  }

  @Test func `a long word is not compared`() {
    let word = String(repeating: "x", count: 100_000)
    #expect(Spelling.nearest(to: word, among: [word + "y"]) == nil)
  }

  @Test func `a quoted path is whole and has no control characters`() {
    let path = "/srv/" + String(repeating: "x", count: 60)
    #expect(Spelling.quotedWhole(path + "\n.jpg") == "\"\(path)\u{FFFD}.jpg\"")
  }

  @Test func `a quoted text is truncated and has no control characters`() {
    #expect(Spelling.quoted("a\u{1B}[2Jb\u{9B}c") == "\"a\u{FFFD}[2Jb\u{FFFD}c\"")
    #expect(
      Spelling.quoted(String(repeating: "x", count: 41))
        == "\"" + String(repeating: "x", count: 40) + "…\"")
  }
}

@Suite struct UnitScaleTests {
  @Test(
    arguments: [
      ("500ms", 500), ("30s", 30_000), ("10m", 600_000), ("2h", 7_200_000), ("7d", 604_800_000),
      ("31556926s", 31_556_926_000), ("0s", 0), ("5M", 300_000), ("1S", 1_000),
    ] as [(String, Int64)])
  func `a duration is milliseconds`(text: String, milliseconds: Int64) throws {
    #expect(try UnitScale.duration.value(parsing: text) == milliseconds)
  }

  @Test(
    arguments: [
      ("0.25s", 250), ("1.5h", 5_400_000), ("0.5ms", nil), ("1.0ms", 1), ("0.001s", 1),
      ("0.0005s", nil), ("0.00050000m", 30), ("1.00000001d", nil), ("0.0000001157d", nil),
      ("0.00001d", 864), ("1.0000000000000000000000000s", 1_000),
      ("0.0000000000000000000000001s", nil), ("9.99999999999999999d", nil),
    ] as [(String, Int64?)])
  func `a decimal duration must be whole milliseconds`(text: String, milliseconds: Int64?) throws {
    guard let milliseconds else {
      #expect(throws: InvalidValue("\"\(text)\" is not a multiple of 1ms")) {
        try UnitScale.duration.value(parsing: text)
      }
      return
    }
    #expect(try UnitScale.duration.value(parsing: text) == milliseconds)
  }

  @Test(arguments: [("0", 0), ("3", 3_000), ("0.25", 250), ("30", 30_000)] as [(String, Int64)])
  func `a duration without a unit is seconds`(text: String, milliseconds: Int64) throws {
    #expect(try UnitScale.duration.value(parsing: text) == milliseconds)
  }

  @Test(arguments: ["1.5G", "0.5", "1.0K"])
  func `a size is a whole number`(text: String) {
    #expect(
      throws: InvalidValue(
        "\"\(text)\" is not a size; write a whole number of bytes, or one with K, M, G or T, "
          + "such as 64K or 2G")
    ) { try UnitScale.size.value(parsing: text) }
  }

  @Test(
    arguments: [
      ("64K", 64 << 10), ("100M", 100 << 20), ("2G", 2 << 30), ("1t", 1 << 40), ("1000", 1_000),
    ] as [(String, Int64)])
  func `a size is bytes in binary units`(text: String, bytes: Int64) throws {
    #expect(try UnitScale.size.value(parsing: text) == bytes)
  }

  @Test func `a number of pixels is in megapixels or bare`() throws {
    #expect(try UnitScale.pixels.value(parsing: "100MP") == 100_000_000)
    #expect(try UnitScale.pixels.value(parsing: "65535") == 65_535)
  }

  @Test(arguments: [
    "", "s", "-1s", "+1s", "-1", "1.s", ".5s", "1.", ".", "1,5h", "1.5.5h", "1e3", "1 s",
    " 1s", "1s ", "1y", "1h30m", "٣s", "1S\u{301}",
  ])
  func `a duration is a number with one unit`(text: String) {
    #expect(throws: InvalidValue.self) { try UnitScale.duration.value(parsing: text) }
  }

  @Test(arguments: [
    "9223372036854775808s", "106751991168d", "99999999999999999999999ms", "9223372036854775.808",
    "99999999999999999999999.5",
  ])
  func `a duration beyond 64 bits is too large`(text: String) {
    #expect(throws: InvalidValue("\"\(text)\" is too large")) {
      try UnitScale.duration.value(parsing: text)
    }
  }

  @Test func `an error says how to write a value`() {
    #expect(
      throws: InvalidValue(
        "\"30x\" is not a duration; write a number of seconds, or one with ms, s, m, h, d or w, "
          + "such as 0.25, 500ms or 10m")
    ) { try UnitScale.duration.value(parsing: "30x") }
    #expect(throws: InvalidValue("\"never\" is not possible here; the longest is 36500d")) {
      try Duration(parsing: "never", in: Settings.durationRange)
    }
  }

  @Test(
    arguments: [
      (UnitScale.duration, 604_800_000, "7d"), (.duration, 90_000, "90s"), (.duration, 1, "1ms"),
      (.duration, 0, "0s"), (.duration, 3_600_000, "1h"), (.size, 100 << 20, "100M"),
      (.size, 1_500, "1500"), (.size, 0, "0"), (.pixels, 100_000_000, "100MP"), (.count, 8, "8"),
    ] as [(UnitScale, Int64, String)])
  func `the text of a value is its shortest`(scale: UnitScale, value: Int64, text: String) {
    #expect(scale.text(value) == text)
  }

  @Test(arguments: [0, 1, 999, 1_000, 1_024, 60_000, 86_400_001, 3 << 30, .max] as [Int64])
  func `the text of a value can be read back`(value: Int64) throws {
    for scale in [UnitScale.duration, .size, .pixels, .count] {
      #expect(try scale.value(parsing: scale.text(value)) == value)
    }
  }
}
