import ImgSettings
import Testing

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
  func `a decimal duration must be whole milliseconds`(
    text: String, milliseconds: Int64?
  ) throws {
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
    " 1s", "1s ", "1w", "1h30m", "٣s", "1S\u{301}",
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
        "\"30x\" is not a duration; write a number of seconds, or one with ms, s, m, h or d, "
          + "such as 0.25, 500ms or 10m")
    ) { try UnitScale.duration.value(parsing: "30x") }
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
