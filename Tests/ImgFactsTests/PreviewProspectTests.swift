import ImgFacts
import TestPictures
import Testing

/// Whether a picture can be shown before its end.
struct PreviewProspectTests {
  private func prospect(
    _ bytes: some Collection<UInt8>, shownByteCount: Int = 0
  ) -> PreviewProspect {
    let bytes = Array(bytes)
    return PreviewProspect(of: bytes.span, shownByteCount: shownByteCount)
  }

  private func scene(_ format: PictureFormat) throws -> [UInt8] {
    try PictureMaker.start().scene(width: 64, height: 48, format: format)
  }

  @Test func `each scan of a progressive JPEG counts once a marker follows it`() throws {
    let jpeg = try scene(.progressiveJPEG)
    let scans = jpeg.indices.dropLast().filter { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDA }
    try #require(scans.count > 3)
    #expect(prospect(jpeg[..<(scans[0] + 20)]) == .later)
    for (count, scan) in scans.enumerated().dropFirst() {
      guard case .now(let byteCount) = prospect(jpeg[..<(scan + 2)]) else {
        Issue.record("scan \(count) does not count")
        continue
      }
      #expect(byteCount > scans[count - 1] && byteCount <= scan)
      #expect(jpeg[byteCount] == 0xFF, "the scan ends where a marker begins")
      // The marker alone completes it.
      #expect(prospect(jpeg[..<(byteCount + 1)]) != .now(byteCount: byteCount))
      #expect(prospect(jpeg[..<(byteCount + 2)]) == .now(byteCount: byteCount))
    }
    #expect(prospect(jpeg) == .now(byteCount: jpeg.count - 2))
  }

  @Test func `a marker inside a segment is no scan`() throws {
    let jpeg = try scene(.progressiveJPEG)
    let segment: [UInt8] = [0xFF, 0xED, 0, 6, 0xFF, 0xDA, 0xFF, 0xDA]
    let first = try #require(
      jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDA })
    #expect(prospect(jpeg[..<2] + segment + jpeg[2..<(first + 2)]) == .later)
  }

  @Test func `interlaced PNG and GIF are shown at once, others never`() throws {
    #expect(try prospect(scene(.gif)[..<40]) == .now(byteCount: 40))
    let png = try scene(.interlacedPNG)
    #expect(prospect(png) == .now(byteCount: png.count))
    for format in [PictureFormat.jpeg, .png, .webp, .tiff, .avif, .bmp, .pnm, .jxl] {
      #expect(try prospect(scene(format)) == .none, "\(format)")
    }
  }

  @Test func `a JPEG is shown again once it has a further scan`() throws {
    let jpeg = try scene(.progressiveJPEG)
    guard case .now(let byteCount) = prospect(jpeg[..<(jpeg.count / 2)]) else {
      Issue.record("half of the scans show nothing")
      return
    }
    #expect(prospect(jpeg[..<(jpeg.count / 2)], shownByteCount: byteCount) == .later)
    #expect(prospect(jpeg, shownByteCount: byteCount) == .now(byteCount: jpeg.count - 2))
  }

  @Test func `a GIF is not shown again once its first frame is`() throws {
    let gif = try scene(.gif)
    let frameEnd = gif.count - 1
    #expect(prospect(gif[..<frameEnd]) == .now(byteCount: frameEnd))
    let longer = gif.dropLast() + [UInt8](repeating: 0x21, count: 1_000)
    #expect(prospect(longer) == .now(byteCount: frameEnd))
    #expect(prospect(longer, shownByteCount: frameEnd - 1) == .now(byteCount: frameEnd))
    #expect(prospect(longer, shownByteCount: frameEnd) == .none)
  }

  @Test func `too few bytes decide nothing`() throws {
    #expect(prospect([]) == .later)
    #expect(try prospect(scene(.interlacedPNG)[..<28]) == .later)
    #expect(try prospect(scene(.progressiveJPEG)[..<20]) == .later)
  }
}
