import TestPictures
import Testing

@testable import ImgDecode

/// Which frames show nothing yet.
struct BlankFrameTests {
  private func isBlank(_ pixelAt: (_ x: Int, _ y: Int) -> Raster.Pixel) -> Bool {
    isBlank(Raster(width: 100, height: 50, pixelAt: pixelAt).bytes, bandCount: 4)
  }

  private func isBlank(_ samples: [UInt8], bandCount: Int) -> Bool {
    BlankFrame.isBlank(samples.span, bandCount: bandCount)
  }

  @Test func `one colour is blank`() {
    #expect(isBlank { _, _ in .init(0, 0, 0) })
    #expect(isBlank { _, _ in .init(90, 200, 10) })
  }

  @Test func `what is transparent has no colour`() {
    #expect(isBlank { x, y in .init(UInt8(x), UInt8(y), 0, alpha: 0) })
  }

  @Test func `grain is blank`() {
    #expect(isBlank { x, y in .init(UInt8(10 + (x * 7 + y * 3) % 5), 12, 11) })
  }

  @Test func `few pixels of another colour are a picture`() {
    // Two of a thousand.
    #expect(!isBlank { x, y in x == 40 && y % 5 == 0 ? .init(0, 0, 0) : .init(255, 255, 255) })
  }

  @Test func `a shape that is only transparent elsewhere is a picture`() {
    #expect(!isBlank { x, _ in .init(0, 0, 0, alpha: x < 50 ? 255 : 0) })
  }

  @Test func `pixels without an alpha channel are judged, too`() {
    #expect(isBlank(Array(repeating: 0, count: 300), bandCount: 3))
    let green = (0..<300).map { UInt8($0 % 3 == 1 ? $0 % 200 : 0) }
    #expect(!isBlank(green, bandCount: 3))
  }
}
