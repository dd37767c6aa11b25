import ImgDecode
import ImgModel
import Testing

@Suite struct ThumbnailGeometryTests {
  typealias Size = ThumbnailGeometry.Size

  @Test(arguments: [
    // source, box, scaled
    (Size(width: 640, height: 480), Size(width: 400, height: 400), Size(width: 400, height: 300)),
    (Size(width: 480, height: 640), Size(width: 400, height: 400), Size(width: 300, height: 400)),
    (Size(width: 640, height: 480), Size(width: 640, height: 480), Size(width: 640, height: 480)),
    (Size(width: 640, height: 480), Size(width: 2000, height: 100), Size(width: 133, height: 100)),
    (Size(width: 64, height: 48), Size(width: 400, height: 400), Size(width: 64, height: 48)),
    (Size(width: 5000, height: 1), Size(width: 256, height: 256), Size(width: 256, height: 1)),
    (Size(width: 1, height: 5000), Size(width: 256, height: 256), Size(width: 1, height: 256)),
    (Size(width: 1, height: 1), Size(width: 1, height: 1), Size(width: 1, height: 1)),
  ])
  func `fit gives the largest picture inside the box`(
    source: Size, box: Size, expected: Size
  ) throws {
    let variant = try Variant(width: box.width, height: box.height, mode: .fit)
    let geometry = ThumbnailGeometry(source: source, variant: variant)
    #expect(geometry.scaled == expected)
    #expect(geometry.kept == expected)
  }

  @Test(arguments: [
    // source, box, scaled, kept by a crop
    (
      Size(width: 640, height: 480), Size(width: 400, height: 400),
      Size(width: 533, height: 400), Size(width: 400, height: 400)
    ),
    (
      Size(width: 480, height: 640), Size(width: 400, height: 400),
      Size(width: 400, height: 533), Size(width: 400, height: 400)
    ),
    (
      Size(width: 640, height: 300), Size(width: 400, height: 400),
      Size(width: 640, height: 300), Size(width: 400, height: 300)
    ),
    (
      Size(width: 64, height: 48), Size(width: 400, height: 400),
      Size(width: 64, height: 48), Size(width: 64, height: 48)
    ),
    (
      Size(width: 100_000, height: 10), Size(width: 5, height: 5),
      Size(width: 16_383, height: 2), Size(width: 5, height: 2)
    ),
  ])
  func `fill gives the smallest picture that covers the box`(
    source: Size, box: Size, scaled: Size, cropped: Size
  ) throws {
    let whole = try Variant(width: box.width, height: box.height, mode: .fill)
    #expect(ThumbnailGeometry(source: source, variant: whole).scaled == scaled)
    #expect(ThumbnailGeometry(source: source, variant: whole).kept == scaled)
    let crop = try Variant(width: box.width, height: box.height, mode: .fill, isCropped: true)
    #expect(ThumbnailGeometry(source: source, variant: crop).scaled == scaled)
    #expect(ThumbnailGeometry(source: source, variant: crop).kept == cropped)
  }

  @Test func `a crop keeps the middle`() throws {
    let variant = try Variant(width: 400, height: 400, mode: .fill, isCropped: true)
    let geometry = ThumbnailGeometry(source: Size(width: 640, height: 480), variant: variant)
    #expect(geometry.keptOrigin == (left: 66, top: 0))
  }

  @Test(arguments: [
    (Size(width: 640, height: 480), Size(width: 400, height: 400)),
    (Size(width: 640, height: 300), Size(width: 400, height: 300)),
    (Size(width: 64, height: 48), Size(width: 64, height: 48)),
  ])
  func `stretch gives the box, as far as no side grows`(source: Size, expected: Size) throws {
    let variant = try Variant(width: 400, height: 400, mode: .stretch)
    #expect(ThumbnailGeometry(source: source, variant: variant).scaled == expected)
  }
}
