import ImgCommands
import ImgModel
import Testing

@Suite struct TableTests {
  @Test func `text is aligned left and numbers right`() {
    var table = Table([.number("JOB"), .text("STATE"), .number("TOTAL"), .text("NAME")])
    table.addRow(["7", "running", "1000", "urls.txt"])
    table.addRow(["12", "done", "5", ""])
    #expect(
      table.rendered == """
        JOB  STATE    TOTAL  NAME
          7  running   1000  urls.txt
         12  done         5

        """)
  }

  @Test func `a table without rows has its headings`() {
    #expect(Table([.text("A"), .text("B")]).rendered == "A  B\n")
  }

  @Test func `control characters in a cell are replaced`() {
    var table = Table([.text("URL")])
    table.addRow(["a\u{1B}[2J\nb"])
    #expect(table.rendered == "URL\na\u{FFFD}[2J\u{FFFD}b\n")
  }
}

@Suite struct HumanTextTests {
  @Test(
    arguments: [
      (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"),
      (1_048_575, "1.0 MiB"), (400 << 20, "400 MiB"), (.max, "8388608 TiB"), (-1, "0 B"),
    ] as [(Int64, String)])
  func `a size has a binary unit`(byteCount: Int64, text: String) {
    #expect(HumanText.size(byteCount) == text)
  }

  @Test(
    arguments: [
      (0, "0 B/s"), (1_300_000, "1.3 MB/s"), (999.6, "1.0 kB/s"), (250_000_000, "250 MB/s"),
    ] as [(Double, String)])
  func `a rate has a decimal unit`(bytesPerSecond: Double, text: String) {
    #expect(HumanText.rate(bytesPerSecond: bytesPerSecond) == text)
  }

  @Test(
    arguments: [
      (45.24, "45.2"), (0, "0.0"), (99.95, "100"), (1234.5, "1235"), (-0.01, "0.0"), (-2.5, "-2.5"),
      (.infinity, "-"), (.nan, "-"), (1e300, "-"),
    ] as [(Double, String)])
  func `a number has one decimal while it matters`(value: Double, text: String) {
    #expect(HumanText.number(value) == text)
  }

  @Test(arguments: [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1_000, "1000 jobs")])
  func `a count has a singular or plural noun`(count: Int, text: String) {
    #expect(HumanText.count(count, of: "job") == text)
  }

  @Test(
    arguments: [
      (0, "0ms"), (850, "850ms"), (12_000, "12s"), (192_000, "3m 12s"), (3_600_000, "1h"),
      (3_601_000, "1h"), (187_200_000, "2d 4h"), (-5, "0ms"),
    ] as [(Int64, String)])
  func `a duration has its two largest units`(milliseconds: Int64, text: String) {
    #expect(HumanText.duration(.milliseconds(milliseconds)) == text)
  }

  @Test(
    arguments: [
      (0, "0ms"), (40, "40ms"), (3_960, "3.96s"), (2_000, "2s"), (63_500, "1m 3.5s"),
      (60_000, "1m"), (3_600_001, "1h 0.001s"), (90_061_250, "25h 1m 1.25s"), (-1, "0ms"),
    ])
  func `the duration of an animation is exact`(milliseconds: Int, text: String) {
    #expect(HumanText.exactDuration(milliseconds: milliseconds) == text)
  }

  @Test func `an age is relative to now`() {
    let age = HumanText.age(of: WallTime(rawValue: 1_000), at: WallTime(rawValue: 61_000))
    #expect(age == "1m ago")
  }

  @Test(
    arguments: [(0, "0:00"), (11, "0:11"), (75, "1:15"), (3_723, "1:02:03")] as [(Int64, String)])
  func `a stopwatch shows hours if there are any`(seconds: Int64, text: String) {
    #expect(HumanText.stopwatch(seconds: seconds) == text)
  }
}
