import ImgSystem
import TestFiles
import TestPictures
import Testing

/// What a decoder may do is enough for every format.
@Suite(.timeLimit(.minutes(20)))
struct LockedDecodeTests {
  @Test func `a locked process makes the same thumbnails as others`() throws {
    let directory = TestDirectoryOfPictures(try TestDirectory())
    try directory.addCards()
    try directory.addDrawings()
    let unlocked = try SandboxTool.run(["decode", "none", "1"] + directory.paths)
    let locked = try SandboxTool.run(["decode", "decoder", "1"] + directory.paths)
    #expect(unlocked.count == directory.paths.count)
    for path in directory.paths {
      let thumbnail = try #require(unlocked[path])
      // The checksum of a thumbnail follows its format; a failure begins with its stage.
      #expect(thumbnail.hasPrefix("jpeg ") || thumbnail.hasPrefix("webp "), "\(path)")
      #expect(locked[path] == thumbnail, "\(path)")
    }
  }
}

/// Pictures of all formats, as files.
private final class TestDirectoryOfPictures {
  private let directory: TestDirectory
  private(set) var paths: [String] = []

  init(_ directory: TestDirectory) {
    self.directory = directory
  }

  func addCards() throws {
    let maker = try PictureMaker.start()
    for (index, format) in PictureFormat.allCases.enumerated() {
      for hasAlpha in [false, true] where !hasAlpha || format.hasAlpha {
        let picture = try maker.card(index: index, format: format, hasAlpha: hasAlpha)
        paths.append(try directory.write(picture, to: "\(format)-\(hasAlpha)"))
      }
    }
    let animation = try maker.animation(index: 0, frameCount: 3)
    paths.append(try directory.write(animation, to: "animation"))
  }

  /// Drawings with text, which needs fonts, and with another drawing inside, which GdkPixbuf loads.
  func addDrawings() throws {
    let text = ["serif", "sans-serif", "monospace"].enumerated().map { row, family in
      "<text x='4' y='\(24 * (row + 1))' font-family='\(family)' font-weight='bold'>Hamburg</text>"
    }
    try add(text.joined(), to: "text")
    // <svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>
    let inner =
      "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSI5IiBoZWlnaHQ9IjkiPjxyZWN0IHdp"
      + "ZHRoPSI5IiBoZWlnaHQ9IjkiLz48L3N2Zz4="
    try add(
      "<image width='90' height='90' href='data:image/svg+xml;base64,\(inner)'/>", to: "drawing")
  }

  private func add(_ content: String, to name: String) throws {
    let drawing =
      "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='100'>\(content)</svg>"
    paths.append(try directory.write(Array(drawing.utf8), to: name))
  }
}
