import ImgModel
import Testing

@testable import ImgDecode

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
  func `fit gives the largest picture in the box`(source: Size, box: Size, expected: Size) throws {
    let variant = try Variant(ImageVariant(width: box.width, height: box.height, mode: .fit))
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
    let whole = try Variant(ImageVariant(width: box.width, height: box.height, mode: .fill))
    #expect(ThumbnailGeometry(source: source, variant: whole).scaled == scaled)
    #expect(ThumbnailGeometry(source: source, variant: whole).kept == scaled)
    let crop = try Variant(
      ImageVariant(width: box.width, height: box.height, mode: .fill, crop: .centre))
    #expect(ThumbnailGeometry(source: source, variant: crop).scaled == scaled)
    #expect(ThumbnailGeometry(source: source, variant: crop).kept == cropped)
  }

  @Test func `a crop keeps the middle`() throws {
    let variant = try Variant(ImageVariant(width: 400, height: 400, mode: .fill, crop: .centre))
    let geometry = ThumbnailGeometry(source: Size(width: 640, height: 480), variant: variant)
    #expect(geometry.keptOrigin == .init(left: 66, top: 0))
  }

  @Test(arguments: [
    // across, from the left
    (0, 0), (374, 0), (376, 0), (400, 13), (500, 66), (625, 133), (1_000, 133),
  ])
  func `a crop around a point keeps it in the middle if it can`(across: Int, left: Int) throws {
    let point = ImageVariant.Crop.point(x: Thousandths(count: across), y: .one)
    let variant = try Variant(ImageVariant(width: 400, height: 400, mode: .fill, crop: point))
    let geometry = ThumbnailGeometry(source: Size(width: 640, height: 480), variant: variant)
    #expect(geometry.keptOrigin == .init(left: left, top: 0))
  }

  @Test func `the pixels decide where a crop by interest begins, if something is cut off`() throws {
    for crop in [ImageVariant.Crop.attention, .entropy] {
      let variant = try Variant(ImageVariant(width: 400, height: 400, mode: .fill, crop: crop))
      let geometry = ThumbnailGeometry(source: Size(width: 640, height: 480), variant: variant)
      #expect(geometry.keptOrigin == nil)
      #expect(geometry.kept == Size(width: 400, height: 400))
      let square = ThumbnailGeometry(source: Size(width: 640, height: 640), variant: variant)
      #expect(square.keptOrigin == .init(left: 0, top: 0))
    }
  }

  @Test(arguments: [
    (ImageVariant.Mode.fit, Size(width: 400, height: 300), Size(width: 400, height: 300)),
    (.fill, Size(width: 533, height: 400), Size(width: 400, height: 400)),
    (.fillDown, Size(width: 533, height: 400), Size(width: 400, height: 400)),
    (.auto, Size(width: 533, height: 400), Size(width: 400, height: 400)),
    (.stretch, Size(width: 400, height: 400), Size(width: 400, height: 400)),
  ])
  func `a small picture is enlarged if that is wanted`(
    mode: ImageVariant.Mode, scaled: Size, kept: Size
  ) throws {
    let variant = try Variant(
      ImageVariant(
        width: 400, height: 400, mode: mode, crop: mode.coversBox ? .centre : nil, enlarges: true))
    let geometry = ThumbnailGeometry(source: Size(width: 64, height: 48), variant: variant)
    #expect(geometry.scaled == scaled)
    #expect(geometry.kept == kept)
  }

  @Test func `an enlarged side is never longer than an encoder can hold`() throws {
    let variant = try Variant(
      ImageVariant(width: 16_383, height: 16_383, mode: .fill, enlarges: true))
    let geometry = ThumbnailGeometry(source: Size(width: 100, height: 1), variant: variant)
    #expect(geometry.scaled == Size(width: 16_383, height: 164))
  }

  @Test(arguments: [
    (Size(width: 640, height: 480), Size(width: 400, height: 400)),
    (Size(width: 640, height: 300), Size(width: 400, height: 300)),
    (Size(width: 64, height: 48), Size(width: 64, height: 48)),
  ])
  func `stretch gives the box, as far as no side grows`(source: Size, expected: Size) throws {
    let variant = try Variant(ImageVariant(width: 400, height: 400, mode: .stretch))
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
      for crop in [nil, ImageVariant.Crop.centre, .point(x: .zero, y: .one)] {
        let geometry = { (mode: ImageVariant.Mode) in
          let variant = try Variant(
            ImageVariant(
              width: box.width, height: box.height, mode: mode,
              crop: mode.coversBox ? crop : nil, enlarges: enlarges))
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
    let variant = try Variant(ImageVariant(width: box.width, height: box.height, mode: .fillDown))
    let geometry = ThumbnailGeometry(source: source, variant: variant)
    #expect(geometry.scaled == scaled)
    #expect(geometry.kept == kept)
  }

  @Test func `the point of a crop counts in a picture that is smaller than its box`() throws {
    let place = { (crop: ImageVariant.Crop) in
      let variant = try Variant(ImageVariant(width: 400, height: 400, mode: .fillDown, crop: crop))
      let source = Size(width: 200, height: 100)
      return ThumbnailGeometry(source: source, variant: variant).keptOrigin
    }
    #expect(try place(.centre) == .init(left: 50, top: 0))
    #expect(try place(.point(x: .one, y: .zero)) == .init(left: 100, top: 0))
    #expect(try place(.attention) == nil)
  }

  @Test func `fill-down crops an enlarged picture to the whole box`() throws {
    let variant = try Variant(
      ImageVariant(width: 400, height: 100, mode: .fillDown, enlarges: true))
    let geometry = ThumbnailGeometry(source: Size(width: 64, height: 48), variant: variant)
    #expect(geometry.scaled == Size(width: 400, height: 300))
    #expect(geometry.kept == Size(width: 400, height: 100))
  }

  // MARK: - Densities, as imgproxy has them

  private func geometry(
    _ source: Size, _ box: Size, _ mode: ImageVariant.Mode, density: Int = 1_000,
    enlarges: Bool = false, isDrawing: Bool = false
  ) throws -> ThumbnailGeometry {
    var variant = ImageVariant(
      width: box.width, height: box.height, mode: mode, crop: mode.coversBox ? .centre : nil,
      enlarges: enlarges)
    variant.sizing = Sizing(density: Thousandths(count: density))
    return ThumbnailGeometry(source: source, isDrawing: isDrawing, variant: try Variant(variant))
  }

  @Test(
    arguments: [
      // source, box, mode, density, kept
      ((1_000, 1_000), (600, 300), .fill, 2_000, (1_000, 500)),
      ((200, 100), (26, 100), .fill, 2_000, (26, 100)),
      ((3_000, 2_000), (600, 300), .fill, 2_000, (1_200, 600)),
      // Smaller than the box already: the density does not count.
      ((400, 400), (600, 300), .fill, 2_000, (400, 300)),
      ((400, 400), (600, 300), .fill, 500, (300, 225)),
      ((1_000, 1_000), (600, 300), .auto, 2_000, (1_000, 500)),
      ((1_000, 30), (416, 23), .fillDown, 1_500, (543, 30)),
      ((1_000, 1_000), (400, 300), .stretchDown, 3_000, (1_000, 750)),
      ((3_000, 2_000), (16_383, 16_383), .ownSize, 500, (1_500, 1_000)),
      ((200, 100), (16_383, 16_383), .ownSize, 2_000, (200, 100)),
      ((3_000, 2_000), (1_000, 1_000), .ownSize, 500, (1_000, 667)),
    ] as [((Int, Int), (Int, Int), ImageVariant.Mode, Int, (Int, Int))])
  func `a small picture lowers the density, and keeps the shape of the box`(
    source: (Int, Int), box: (Int, Int), mode: ImageVariant.Mode, density: Int, kept: (Int, Int)
  ) throws {
    let geometry = try geometry(
      Size(width: source.0, height: source.1), Size(width: box.0, height: box.1), mode,
      density: density)
    #expect(geometry.kept == Size(width: kept.0, height: kept.1))
  }

  @Test func `a density counts in full where pictures are enlarged`() throws {
    let source = Size(width: 200, height: 100)
    let open = Size(width: 16_383, height: 16_383)
    #expect(
      try geometry(source, open, .ownSize, density: 2_000, enlarges: true).kept
        == Size(width: 400, height: 200))
    #expect(
      try geometry(source, Size(width: 300, height: 300), .fill, density: 2_000, isDrawing: true)
        .kept == Size(width: 600, height: 600))
  }

  @Test(arguments: [
    (Size(width: 1_000, height: 1_000), Size(width: 333, height: 1_000)),
    (Size(width: 100, height: 100), Size(width: 33, height: 100)),
    (Size(width: 1_000, height: 2_000), Size(width: 400, height: 1_200)),
  ])
  func `stretch-down keeps the shape of the box where the picture is smaller`(
    source: Size, expected: Size
  ) throws {
    let box = Size(width: 400, height: 1_200)
    #expect(try geometry(source, box, .stretchDown).scaled == expected)
    #expect(try geometry(source, box, .stretchDown, enlarges: true).scaled == box)
  }

  // MARK: - Drawings

  @Test func `a drawing fills its box, up to a size that is no thumbnail's`() throws {
    let icon = Size(width: 32, height: 16)
    func scaled(_ side: Int, _ mode: ImageVariant.Mode) throws -> Size {
      try geometry(icon, Size(width: side, height: side), mode, isDrawing: true).scaled
    }
    #expect(try scaled(400, .fit) == Size(width: 400, height: 200))
    #expect(try scaled(400, .fill) == Size(width: 800, height: 400))
    #expect(try scaled(400, .ownSize) == icon)
    #expect(try scaled(16_383, .fit) == icon)
  }

  // MARK: - Open sides

  @Test(
    arguments: [
      // source, box, mode, whether it is enlarged, the size that is refused
      ((800, 12_000), (600, 16_383), .fit, false, nil),
      ((800, 48_000), (600, 16_383), .fit, false, (600, 36_000)),
      ((500, 20_000), (600, 16_383), .fit, false, (500, 20_000)),
      ((100, 10_000), (4_096, 16_383), .fit, true, (4_096, 409_600)),
      ((4_000, 4_000), (4_096, 16_383), .fit, false, nil),
      ((4_000, 4_100), (4_096, 16_383), .fit, true, (4_096, 4_198)),
      ((12_000, 800), (16_383, 600), .fit, false, nil),
      ((200, 100), (300, 300), .fill, true, nil),
      ((1_000, 4_000), (4_096, 1), .fill, true, (4_096, 16_384)),
    ] as [((Int, Int), (Int, Int), ImageVariant.Mode, Bool, (Int, Int)?)])
  func `a size that only the proportions decide has a limit, and is never cut`(
    source: (Int, Int), box: (Int, Int), mode: ImageVariant.Mode, enlarges: Bool,
    refused: (Int, Int)?
  ) throws {
    var variant = ImageVariant(width: box.0, height: box.1, mode: mode, enlarges: enlarges)
    variant.sizing = Sizing(maximumPixelCount: 4_096 * 4_096)
    let geometry = ThumbnailGeometry(
      source: Size(width: source.0, height: source.1), variant: try Variant(variant))
    #expect(geometry.refused == refused.map { Size(width: $0.0, height: $0.1) })
  }
}
