import ImgClient
import ImgModel
import Testing

@testable import ImgGateway

struct SideLimitTests {
  @Test(
    arguments: [
      ("w=100", 100, 200), ("h=100", 200, 100), ("", 200, 200), ("w=50&dpr=2", 100, 200),
      ("w=200&h=30&fit=cover", 200, 30),
    ])
  func `a side that a request leaves open is as long as the server permits`(
    options: String, width: Int, height: Int
  ) throws {
    let queries = ImageQueries(sides: SideLimit(200))
    let target = try RequestTarget("/image?url=https://a.example/b.jpg&\(options)")
    let variant = try queries.weserv(target).request.variant
    #expect((variant.width, variant.height) == (width, height))
    let path = try RequestTarget("/_/w:100/plain/https://a.example/b.jpg")
    #expect(try queries.imgproxy(path, now: .now).request.variant.height == 200)
  }

  @Test func `a picture that covers its box uncropped is enlarged only without a limit of sides`()
    throws
  {
    let target = try RequestTarget("/image?url=https://a.example/b.jpg&w=20&h=10&fit=outside")
    for (sides, enlarges) in [(SideLimit(200), false), (.none, true)] {
      let variant = try ImageQueries(sides: sides).weserv(target).request.variant
      #expect(variant.enlarges == enlarges)
      #expect((variant.width, variant.height) == (20, 10))
    }
  }
}
