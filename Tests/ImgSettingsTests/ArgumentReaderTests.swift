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
  func `a short option's value may be attached, and short options combined`(
    arguments: [String]
  ) throws {
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
    #expect(throws: UsageError("unknown option \"-2x\"")) { try read("a", "-2x") }
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
    (["a", "-x"], "unknown option \"-x\""),
    (["a", "--size"], "--size needs a value: --size WxH"),
    (["a", "-o"], "-o needs a value: -o FILE"),
    (["a", "--size", "--wait"], "--size needs a value: --size WxH"),
    (["a", "--wait=yes"], "--wait takes no value"),
    (["a", "-w=yes"], "-w takes no value"),
    (["a", "-wx"], "unknown option \"-x\""),
    (["a", "-xw"], "unknown option \"-xw\""),
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
