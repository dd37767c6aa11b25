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
    (.fillDown, Size(width: 533, height: 400), Size(width: 400, height: 400)),
    (.auto, Size(width: 533, height: 400), Size(width: 400, height: 400)),
    (.stretch, Size(width: 400, height: 400), Size(width: 400, height: 400)),
  ])
  func `a small picture is enlarged if that is wanted`(
    mode: Variant.Mode, scaled: Size, kept: Size
  ) throws {
    let variant = try Variant(
      width: 400, height: 400, mode: mode, crop: mode.coversBox ? .centre : nil, enlarges: true)
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

  // MARK: - Modes that look at the proportions of the picture

  private static let landscape = Size(width: 640, height: 480)
  private static let portrait = Size(width: 480, height: 640)
  private static let square = Size(width: 500, height: 500)
  private static let wideBox = Size(width: 300, height: 200)
  private static let tallBox = Size(width: 200, height: 300)
  private static let squareBox = Size(width: 300, height: 300)

  @Test(arguments: [
    // source, box, whether the box is filled
    (landscape, wideBox, true), (landscape, tallBox, false), (landscape, squareBox, true),
    (portrait, wideBox, false), (portrait, tallBox, true), (portrait, squareBox, false),
    (square, wideBox, true), (square, tallBox, false), (square, squareBox, true),
    (Size(width: 64, height: 48), wideBox, true), (Size(width: 640, height: 100), wideBox, true),
    (Size(width: 100, height: 101), Size(width: 100, height: 100), false),
    (landscape, Size(width: 16_383, height: 50), true),
    (portrait, Size(width: 50, height: 51), true),
  ])
  func `auto fills a box of the picture's orientation and fits any other`(
    source: Size, box: Size, isFilled: Bool
  ) throws {
    for enlarges in [false, true] {
      for crop in [nil, Crop.centre, .point(x: .zero, y: .one)] {
        let geometry = { (mode: Variant.Mode) in
          let variant = try Variant(
            width: box.width, height: box.height, mode: mode,
            crop: mode.coversBox ? crop : nil, enlarges: enlarges)
          return ThumbnailGeometry(source: source, variant: variant)
        }
        #expect(try geometry(.auto) == geometry(isFilled ? .fill : .fit))
      }
    }
  }

  @Test(arguments: [
    // source, box, scaled, kept
    (landscape, wideBox, Size(width: 300, height: 225), wideBox),
    (portrait, wideBox, Size(width: 300, height: 400), wideBox),
    (
      Size(width: 200, height: 100), squareBox, Size(width: 200, height: 100),
      Size(width: 100, height: 100)
    ),
    (
      Size(width: 200, height: 100), Size(width: 300, height: 125), Size(width: 200, height: 100),
      Size(width: 200, height: 83)
    ),
    (
      Size(width: 200, height: 100), Size(width: 250, height: 300), Size(width: 200, height: 100),
      Size(width: 83, height: 100)
    ),
    (
      Size(width: 640, height: 300), Size(width: 400, height: 400), Size(width: 640, height: 300),
      Size(width: 300, height: 300)
    ),
    (
      Size(width: 64, height: 48), Size(width: 400, height: 300), Size(width: 64, height: 48),
      Size(width: 64, height: 48)
    ),
    (
      Size(width: 100, height: 67), wideBox, Size(width: 100, height: 67),
      Size(width: 100, height: 67)
    ),
    (
      Size(width: 10, height: 10), Size(width: 16_383, height: 1), Size(width: 10, height: 10),
      Size(width: 10, height: 1)
    ),
    (
      Size(width: 100_000, height: 10), Size(width: 5, height: 5), Size(width: 16_383, height: 2),
      Size(width: 2, height: 2)
    ),
  ])
  func `fill-down keeps the shape of the box where the picture is smaller`(
    source: Size, box: Size, scaled: Size, kept: Size
  ) throws {
    let variant = try Variant(width: box.width, height: box.height, mode: .fillDown)
    let geometry = ThumbnailGeometry(source: source, variant: variant)
    #expect(geometry.scaled == scaled)
    #expect(geometry.kept == kept)
  }

  @Test func `the point of a crop counts in a picture that is smaller than its box`() throws {
    let place = { (crop: Crop) in
      let variant = try Variant(width: 400, height: 400, mode: .fillDown, crop: crop)
      let source = Size(width: 200, height: 100)
      return ThumbnailGeometry(source: source, variant: variant).keptOrigin
    }
    #expect(try place(.centre) == .init(left: 50, top: 0))
    #expect(try place(.point(x: .one, y: .zero)) == .init(left: 100, top: 0))
    #expect(try place(.attention) == nil)
  }

  @Test func `fill-down crops an enlarged picture to the whole box`() throws {
    let variant = try Variant(width: 400, height: 100, mode: .fillDown, enlarges: true)
    let geometry = ThumbnailGeometry(source: Size(width: 64, height: 48), variant: variant)
    #expect(geometry.scaled == Size(width: 400, height: 300))
    #expect(geometry.kept == Size(width: 400, height: 100))
  }
}
