import ImgCommands
import ImgModel
import Testing

@Suite struct NarrowTableTests {
  private func table() -> Table {
    var table = Table([
      .number("job"), .text("state"), .number("retryable").ifItFits, .number("cached").ifItFits,
      .text("name"),
    ])
    table.addRow(["1", "running", "0", "12", "a list of pictures of mountains"])
    table.addRow(["12", "finished", "0", "0", "b"])
    return table
  }

  @Test func `a table that is too wide loses columns of zeros first, then the ends of texts`() {
    #expect(table().rendered(within: 80) == table().rendered)
    #expect(
      table().rendered(within: 40) == """
        job  state     cached  name
          1  running       12  a list of pictur…
         12  finished       0  b

        """)
  }

  @Test(arguments: [60, 40, 30, 26])
  func `no row is wider than the terminal`(width: Int) {
    let lines = table().rendered(within: width).split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= width })
    #expect(lines[1].contains("running") && lines[1].contains("a list"))
  }

  @Test
  func `commands in a table and in the line of the progress carry the places that were typed`() {
    let places = TypedPlaces(in: ["list", "--data-dir", "d"])
    let job = ImageJob(
      JobRecord(
        id: JobID(rawValue: 8), options: RequestOptions(variant: .standard), state: .queued,
        submittedAt: WallTime(rawValue: 0)), wait: Wait(.storePinned))
    var table = JobListing(at: WallTime(rawValue: 0), places: places)
    table.add(job)
    let bar = ProgressBar(job, at: .zero, wall: WallTime(rawValue: 0), places: places)
    for text in [table.rendered, bar.plainLine, bar.line(columns: 200)] {
      #expect(text.contains("(imgctl --data-dir d export, imgctl --data-dir d unpin, or"))
    }
  }

  @Test(arguments: [20, 40, 60, 72, 80, 120])
  func `a table of waiting jobs fits the terminal, uses its room, and cuts no state`(width: Int) {
    var table = JobListing(at: WallTime(rawValue: 60_000))
    for (number, host) in [(8, "example.org"), (109, "pictures.example.org")] {
      table.add(
        ImageJob(
          JobRecord(
            id: JobID(rawValue: UInt64(number)), name: "holidays of 1998",
            options: RequestOptions(variant: .standard, delay: .seconds(3_600)), state: .queued,
            submittedAt: WallTime(rawValue: 0)), isDelayed: true,
          wait: Wait(.hostFailing, host: host, httpStatus: 503, until: WallTime(rawValue: 102_000)))
      )
    }
    let lines = table.rendered(within: width).split(separator: "\n").map(String.init)
    #expect(lines.count == 3)
    #expect(lines.allSatisfy { $0.count <= width })
    #expect(lines.dropFirst().allSatisfy { $0.contains("  scheduled") })
    if lines.contains(where: { $0.contains("…") }) { #expect(lines.map(\.count).max() == width) }
    if width > 60 { #expect(lines[0].contains("waiting")) }
  }
}
