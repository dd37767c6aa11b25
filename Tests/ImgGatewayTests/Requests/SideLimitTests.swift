import ImgClient
import ImgModel
import Testing

@testable import ImgGateway

struct SideLimitTests {
  @Test(
    arguments: [
      ("w=100", 100, 16_383, 40_000), ("h=100", 16_383, 100, 40_000), ("", 200, 200, nil),
      ("w=50&dpr=2", 100, 16_383, 40_000), ("w=200&h=30&fit=cover", 200, 30, nil),
      ("w=20&h=10&fit=outside", 20, 10, 40_000),
    ] as [(String, Int, Int, Int?)])
  func `a side that the proportions decide is limited by the pixels of the thumbnail`(
    options: String, width: Int, height: Int, maximum: Int?
  ) throws {
    let queries = ImageQueries(sides: SideLimit(200))
    let target = try RequestTarget("/image?url=https://a.example/b.jpg&\(options)")
    let variant = try queries.weserv(target).request.variant
    #expect((variant.width, variant.height) == (width, height))
    #expect(variant.sizing.maximumPixelCount == maximum)
    let path = try RequestTarget("/_/w:100/plain/https://a.example/b.jpg")
    let pathVariant = try queries.imgproxy(path, now: .now).request.variant
    #expect(pathVariant.sizing.maximumPixelCount == 40_000)
  }
}
