import ImgClient
import Testing

struct ImagePixelsTests {
  private static let bytes: [UInt8] = Array(0..<24)

  @Test func `a pixel and a row are found by their places`() throws {
    let pixels = try #require(ImagePixels(width: 3, height: 2, bytes: Self.bytes))
    #expect(pixels[0, 0] == .init(red: 0, green: 1, blue: 2, alpha: 3))
    #expect(pixels[2, 1] == .init(red: 20, green: 21, blue: 22, alpha: 23))
    #expect(Array(pixels.row(1)) == Array(12..<24))
  }

  @Test(arguments: [(3, 3), (0, 2), (-3, -2), (2, 2), (.max, .max), (.max / 2, 2)])
  func `no pixels have another size than their bytes`(width: Int, height: Int) {
    #expect(ImagePixels(width: width, height: height, bytes: Self.bytes) == nil)
  }

  @Test func `an area of one colour may be of any positive size`() throws {
    let pixel = ImagePixels.Pixel(red: 1, green: 2, blue: 3, alpha: 4)
    let pixels = try #require(ImagePixels(width: 2, height: 1, filledWith: pixel))
    #expect(pixels.bytes == [1, 2, 3, 4, 1, 2, 3, 4])
    #expect(ImagePixels(width: 0, height: 1, filledWith: pixel) == nil)
    #expect(ImagePixels(width: .max, height: .max, filledWith: pixel) == nil)
  }

  @Test func `pixels are opaque if each is`() {
    let bytes: [UInt8] = [1, 2, 3, 255, 4, 5, 6, 255]
    #expect(ImagePixels(width: 1, height: 2, bytes: bytes)?.isOpaque == true)
    #expect(ImagePixels(width: 1, height: 2, bytes: bytes.dropLast() + [254])?.isOpaque == false)
  }
}
