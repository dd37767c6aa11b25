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
    let crop = try Variant(width: box.width, height: box.height, mode: .fill, crop: .centre)
    #expect(ThumbnailGeometry(source: source, variant: crop).scaled == scaled)
    #expect(ThumbnailGeometry(source: source, variant: crop).kept == cropped)
  }

  @Test func `a crop keeps the middle`() throws {
    let variant = try Variant(width: 400, height: 400, mode: .fill, crop: .centre)
    let geometry = ThumbnailGeometry(source: Size(width: 640, height: 480), variant: variant)
    #expect(geometry.keptOrigin == .init(left: 66, top: 0))
  }

  @Test(arguments: [
    // across, from the left
    (0, 0), (374, 0), (376, 0), (400, 13), (500, 66), (625, 133), (1_000, 133),
  ])
  func `a crop around a point keeps it in the middle as far as the picture goes`(
    across: Int, left: Int
  ) throws {
    let point = Crop.point(x: Thousandths(count: across), y: .one)
    let variant = try Variant(width: 400, height: 400, mode: .fill, crop: point)
    let geometry = ThumbnailGeometry(source: Size(width: 640, height: 480), variant: variant)
    #expect(geometry.keptOrigin == .init(left: left, top: 0))
  }

  @Test func `the pixels decide where a crop by interest begins, unless nothing is cut off`() throws
  {
    for crop in [Crop.attention, .entropy] {
      let variant = try Variant(width: 400, height: 400, mode: .fill, crop: crop)
      let geometry = ThumbnailGeometry(source: Size(width: 640, height: 480), variant: variant)
      #expect(geometry.keptOrigin == nil)
      #expect(geometry.kept == Size(width: 400, height: 400))
      let square = ThumbnailGeometry(source: Size(width: 640, height: 640), variant: variant)
      #expect(square.keptOrigin == .init(left: 0, top: 0))
    }
  }

  @Test(arguments: [
    (Variant.Mode.fit, Size(width: 400, height: 300), Size(width: 400, height: 300)),
    (.fill, Size(width: 533, height: 400), Size(width: 400, height: 400)),
    (.stretch, Size(width: 400, height: 400), Size(width: 400, height: 400)),
  ])
  func `a small picture is enlarged if that is wanted`(
    mode: Variant.Mode, scaled: Size, kept: Size
  ) throws {
    let variant = try Variant(
      width: 400, height: 400, mode: mode, crop: mode == .fill ? .centre : nil, enlarges: true)
    let geometry = ThumbnailGeometry(source: Size(width: 64, height: 48), variant: variant)
    #expect(geometry.scaled == scaled)
    #expect(geometry.kept == kept)
  }

  @Test func `an enlarged side is never longer than an encoder can hold`() throws {
    let variant = try Variant(width: 16_383, height: 16_383, mode: .fill, enlarges: true)
    let geometry = ThumbnailGeometry(source: Size(width: 100, height: 1), variant: variant)
    #expect(geometry.scaled == Size(width: 16_383, height: 164))
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
