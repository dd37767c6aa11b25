import ImgClient
import ImgModel
import ImgSettings
import Testing

@testable import ImgCommands

/// `imgctl sheet`.
extension InvocationTests {
  @Test func `sheet takes a job, or pictures`() throws {
    #expect(
      try command("sheet 7 -o a.jpg", as: SheetCommand.self).subject == .job(JobID(rawValue: 7)))
    for operands in ["./7", "7 8", "photos http://h/a.jpg list.txt"] {
      let sheet = try command("sheet \(operands) -r", as: SheetCommand.self)
      #expect(sheet.subject == .pictures(operands.split(separator: " ").map(String.init)))
      #expect(sheet.isRecursive)
    }
    let sheet = try command(
      "sheet 7 --tile 320x240 --columns 5 --background 102030 --quality 60", as: SheetCommand.self)
    #expect(sheet.tile == SheetLayout.Tile(width: 320, height: 240) && sheet.columns == 5)
    #expect(sheet.background == RGBColour(red: 16, green: 32, blue: 48) && sheet.quality == 60)
  }

  @Test(arguments: [
    ("--tile 5", "--tile: \"5\" is not a tile of 16 to 2000 pixels a side"),
    ("--tile 600x", "--tile: \"600x\" is not a tile of 16 to 2000 pixels a side"),
    ("--columns 0", "--columns: \"0\" is not from 1 to 16383"),
    ("-o out/", "--output: the sheet is one file, such as sheet.jpg"),
  ])
  func `sheet refuses what makes no sheet`(words: String, error: String) throws {
    #expect(throws: UsageError("imgctl sheet: \(error)")) { try invocation("sheet 7 \(words)") }
  }
}

struct ContactSheetTests {
  private let limits = SheetLimits(Limits())

  @Test(
    arguments: [
      (1, nil, nil, [1, 1, 216, 216]), (10, nil, nil, [4, 3, 840, 632]),
      (784, nil, nil, [28, 28, 5832, 5832]), (10, 25, nil, [4, 3, 105, 79]),
      (10, 25, 3, [3, 4, 79, 105]), (2, 25, 9, [2, 1, 53, 27]),
    ] as [(Int, Int?, Int?, [Int])])
  func `tiles are in rows with gaps, about square without a number of columns`(
    count: Int, side: Int?, columns: Int?, expected: [Int]
  ) throws {
    let tile = side.map { SheetLayout.Tile(width: $0, height: $0) }
    let layout = try SheetLayout(count, of: tile, columns: columns, within: limits)
    #expect([layout.columns, layout.rows, layout.width, layout.height] == expected)
  }

  @Test func `wide tiles make fewer columns`() throws {
    let wide = SheetLayout.Tile(width: 100, height: 50)
    let layout = try SheetLayout(32, of: wide, columns: nil, within: limits)
    #expect([layout.columns, layout.rows] == [5, 7])
  }

  @Test func `tiles without a size become smaller until the sheet fits`() throws {
    let layout = try SheetLayout(5_000, of: nil, columns: nil, within: limits)
    #expect((60..<100).contains(layout.tile.width))
    #expect(limits.permit(layout))
    let more = SheetLayout.Tile(width: layout.tile.width + 1, height: layout.tile.height + 1)
    let error = try #require(throws: UsageError.self) {
      try SheetLayout(5_000, of: more, columns: nil, within: limits)
    }
    #expect("\(error)".contains("; --tile \(layout.tile.width) fits"))
    #expect("\(error)".contains("a sheet has at most 34.9 megapixels (--max-body, --max-pixels)"))
  }

  @Test func `a sheet without room for the smallest tiles is refused`() throws {
    for (count, columns) in [(200_000, nil), (5_000, 1)] as [(Int, Int?)] {
      let error = try #require(throws: UsageError.self) {
        try SheetLayout(count, of: nil, columns: columns, within: limits)
      }
      #expect("\(error)".contains("do not fit a sheet, not even of 16 pixels each"))
    }
  }

  @Test func `the limits are those of the cluster, and of the memory of the command`() {
    var large = Limits()
    (large.maxBodyByteCount, large.maxPixels) = (1 << 40, 1 << 40)
    #expect("\(SheetLimits(large))".contains("at most 64.0 megapixels"))
    large.maxPixels = 5_000_000
    #expect("\(SheetLimits(large))".contains("at most 5.0 megapixels"))
  }

  @Test func `a tile has no more pixels than a decoder may send`() throws {
    var small = Limits()
    small.maxThumbnailByteCount = 40_000
    let limits = SheetLimits(small)
    #expect(try SheetLayout(4, of: nil, columns: nil, within: limits).tile.width == 100)
    let error = try #require(throws: UsageError.self) {
      try SheetLayout(
        4, of: SheetLayout.Tile(width: 101, height: 101), columns: nil, within: limits)
    }
    #expect("\(error)".contains("and a tile 10000 pixels (--max-thumbnail); --tile 100 fits"))
  }

  @Test func `a picture is in the middle of its tile, and shows the background through`() throws {
    let tile = SheetLayout.Tile(width: 16, height: 16)
    let layout = try SheetLayout(2, of: tile, columns: 2, within: limits)
    var canvas = SheetCanvas(layout, on: RGBColour(red: 0, green: 100, blue: 200))
    let opaque = ImagePixels.Pixel(red: 255, green: 0, blue: 10)
    canvas.draw(try #require(ImagePixels(width: 16, height: 2, filledWith: opaque)), in: 0)
    let half = ImagePixels.Pixel(red: 255, green: 0, blue: 0, alpha: 51)
    canvas.draw(try #require(ImagePixels(width: 1, height: 16, filledWith: half)), in: 1)
    let file = canvas.file
    let header = Array("P6\n35 18\n255\n".utf8)
    #expect(file.starts(with: header) && file.count == header.count + 3 * 35 * 18)
    let pixel = { (x: Int, y: Int) in
      Array(file.dropFirst(header.count + 3 * (35 * y + x)).prefix(3))
    }
    let background: [UInt8] = [0, 100, 200]
    #expect([pixel(1, 8), pixel(16, 9)].allSatisfy { $0 == [255, 0, 10] })
    #expect([pixel(25, 1), pixel(25, 16)].allSatisfy { $0 == [51, 80, 160] })
    for (x, y) in [(0, 8), (1, 7), (16, 10), (17, 8), (24, 1), (26, 1), (25, 0), (25, 17)] {
      #expect(pixel(x, y) == background, "\(x), \(y)")
    }
  }
}
