import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Icons and cursors of Windows.
@Suite(.timeLimit(.minutes(20))) struct IconTests {
  private let fixture = ThumbnailFixture()

  /// A square in one colour of each pixel's place, its left columns transparent.
  private static func raster(
    side: Int, blue: UInt8 = 100, colourCount: Int = 256, hiddenCount: Int = 3
  ) -> Raster {
    Raster(width: side, height: side) { x, y in
      let level = UInt8((x + y * 3) % colourCount)
      return Raster.Pixel(level, 255 - level, blue, alpha: x < hiddenCount ? 0 : 255)
    }
  }

  /// Whether what is shown of both is the same.
  private func shows(_ shown: Raster, _ raster: Raster) -> Bool {
    guard (shown.width, shown.height) == (raster.width, raster.height) else { return false }
    return (0..<raster.width * raster.height).allSatisfy { place in
      let (x, y) = (place % raster.width, place / raster.width)
      return raster[x, y].alpha == 0 ? shown[x, y].alpha == 0 : shown[x, y] == raster[x, y]
    }
  }

  private func part(
    side: Int, blue: UInt8 = 100, _ pixels: BitmapWriter.Pixels = .blueGreenRedAlpha
  ) -> IconWriter.Part {
    let colourCount = if case .indexes(let bitCount) = pixels { 1 << bitCount } else { 256 }
    return IconWriter.Part(
      Self.raster(side: side, blue: blue, colourCount: colourCount), BitmapWriter(.info, pixels))
  }

  /// A PNG in one colour.
  private func png(side: Int, blue: UInt8) throws -> IconWriter.Part {
    let raster = Raster(width: side, height: side) { _, _ in Raster.Pixel(9, 9, blue) }
    let bytes = try fixture.maker.encode(raster, as: .png, hasAlpha: true)
    return IconWriter.Part(width: side, height: side, bytes)
  }

  private func thumbnail(_ parts: [IconWriter.Part], side: Int) throws -> RenderedThumbnail {
    try fixture.thumbnailer.thumbnail(
      of: IconWriter(parts).bytes,
      as: Variant(ImageVariant(width: side, height: side, format: .png)))
  }

  /// The blue of the thumbnail, which tells the pictures apart.
  private func blue(_ parts: [IconWriter.Part], side: Int) throws -> UInt8 {
    let rendered = try thumbnail(parts, side: side)
    let raster = try fixture.reader.raster(of: rendered.bytes)
    return raster[raster.width / 2, raster.height / 2].blue
  }

  // MARK: - One picture

  @Test(
    arguments: [
      BitmapWriter.Pixels.indexes(1), .indexes(4), .indexes(8), .blueGreenRed, .blueGreenRedAlpha,
    ], [false, true])
  func `a bitmap in an icon has its mask`(pixels: BitmapWriter.Pixels, isCursor: Bool) throws {
    for isTopDown in [false, true] {
      let colourCount = if case .indexes(let bitCount) = pixels { 1 << bitCount } else { 256 }
      let raster = Self.raster(side: 21, colourCount: colourCount)
      var writer = BitmapWriter(.info, pixels)
      writer.isTopDown = isTopDown
      let icon = IconWriter([IconWriter.Part(raster, writer)], isCursor: isCursor)
      #expect(shows(try fixture.raster(of: icon.bytes), raster))
    }
  }

  @Test func `an opacity goes before the mask, unless it is 0 everywhere`() throws {
    let soft = Raster(width: 16, height: 16) { x, y in
      Raster.Pixel(UInt8(x), UInt8(y), 9, alpha: UInt8(x * 15 + 9))
    }
    let writer = BitmapWriter(.info, .blueGreenRedAlpha)
    let part = writer.iconPart(soft)
    // The mask hides all.
    let masked = Array(part.dropLast(16 * 4)) + [UInt8](repeating: 0xFF, count: 16 * 4)
    let icon = IconWriter([.init(width: 16, height: 16, masked)])
    #expect(try fixture.raster(of: icon.bytes).bytes == soft.bytes)
    // Nor does a mask matter that is cut.
    let cut = IconWriter([.init(width: 16, height: 16, Array(part.dropLast(20)))])
    #expect(try fixture.raster(of: cut.bytes).bytes == soft.bytes)
    let raster = Self.raster(side: 16)
    var old = writer.iconPart(raster)
    for alpha in stride(from: 43, to: 40 + 16 * 16 * 4, by: 4) { old[alpha] = 0 }
    let oldIcon = IconWriter([.init(width: 16, height: 16, old)])
    #expect(shows(try fixture.raster(of: oldIcon.bytes), raster))
  }

  @Test func `a PNG in an icon is decoded`() throws {
    let raster = Card(index: 1, width: 300, height: 300, hasAlpha: true).raster
    let bytes = try fixture.maker.encode(raster, as: .png, hasAlpha: true)
    let icon = IconWriter([.init(width: 300, height: 300, bytes)])
    #expect(try fixture.raster(of: icon.bytes).bytes == raster.bytes)
  }

  @Test func `a colour profile in an icon is obeyed`() throws {
    var writer = BitmapWriter(.version5, .blueGreenRed)
    writer.profile = ColourProfile.rgb(primaries: .displayP3, curve: .sRGB)
    let green = Raster(width: 32, height: 32) { _, _ in Raster.Pixel(30, 160, 60) }
    let part = writer.iconPart(green) + writer.profile
    let mask = 32 * 4
    var moved = part
    // The mask stands between the pixels and the profile.
    let offset = 124 + 32 * 32 * 3 + mask
    moved.replaceSubrange(112..<114, with: [UInt8(offset & 0xFF), UInt8(offset >> 8)])
    let icon = IconWriter([.init(width: 32, height: 32, moved)])
    #expect(try fixture.raster(of: icon.bytes)[9, 9].red < 5)
  }

  // MARK: - Several pictures

  @Test func `the size is that of the largest picture`() throws {
    let parts = [part(side: 16), part(side: 48), part(side: 32)]
    let rendered = try thumbnail(parts, side: 20)
    #expect(rendered.source == SourceFacts(format: .ico, width: 48, height: 48, frames: 1))
    #expect((rendered.thumbnail.width, rendered.thumbnail.height) == (20, 20))
    let large = try thumbnail(parts, side: 256)
    #expect((large.thumbnail.width, large.thumbnail.height) == (48, 48))
  }

  @Test(arguments: [(16, 1), (17, 2), (32, 2), (33, 3), (64, 3), (65, 4), (256, 4)])
  func `the smallest picture that is large enough is decoded`(side: Int, blue: UInt8) throws {
    let parts = [
      part(side: 128, blue: 4), part(side: 16, blue: 1), try png(side: 64, blue: 3),
      part(side: 32, blue: 2),
    ]
    #expect(try self.blue(parts, side: side) == blue)
  }

  @Test func `of pictures of one size the one of the most colours is decoded`() throws {
    let parts = [
      part(side: 32, blue: 1, .indexes(4)), part(side: 32, blue: 2),
      part(side: 32, blue: 3, .indexes(8)), part(side: 32, blue: 4),
    ]
    #expect(try blue(parts, side: 32) == 2)
    #expect(try blue(parts, side: 16) == 2)
  }

  @Test func `a smaller picture of fewer colours or of another shape is not decoded`() throws {
    #expect(
      try blue([part(side: 32, blue: 1, .indexes(8)), part(side: 64, blue: 2)], side: 16) == 2)
    let flat = Raster(width: 40, height: 30) { _, _ in Raster.Pixel(1, 1, 1) }
    let other = IconWriter.Part(flat, BitmapWriter(.info, .blueGreenRedAlpha))
    #expect(try blue([other, part(side: 64, blue: 2)], side: 16) == 2)
  }

  // MARK: - Limits

  @Test func `the size in the headers is limited, not that in the directory`() throws {
    let strict = ThumbnailFixture(maxPixels: 20 * 20)
    for part in [part(side: 21), try png(side: 21, blue: 1)] {
      let small = IconWriter([self.part(side: 16), .init(width: 1, height: 1, part.bytes)])
      #expect(strict.failureCode(of: small.bytes) == .tooManyPixels)
    }
    let bomb = try fixture.maker.card(declaring: 60_000, in: .png)
    let icon = IconWriter([.init(width: 16, height: 16, bomb)])
    #expect(fixture.failureCode(of: icon.bytes) == .tooManyPixels)
  }

  @Test func `entries that declare too many or too few bytes do not matter`() throws {
    let raster = Self.raster(side: 16)
    let icon = IconWriter([.init(raster, BitmapWriter(.info, .blueGreenRedAlpha))]).bytes
    for byteCount in [[0, 0, 0, 0], [1, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]] {
      var changed = icon
      changed.replaceSubrange(14..<18, with: byteCount)
      #expect(shows(try fixture.raster(of: changed), raster))
    }
  }

  // MARK: - Damage

  @Test func `an icon that is cut anywhere is damaged`() throws {
    let parts = [
      part(side: 9, .indexes(4)), part(side: 9, .blueGreenRed), try png(side: 9, blue: 1),
    ]
    for part in parts {
      let icon = IconWriter([part]).bytes
      let whole = try fixture.raster(of: icon)
      for count in 0..<icon.count {
        let cut = Array(icon[..<count])
        guard let code = fixture.failureCode(of: cut) else {
          // The row's padding, or the end behind the pixels of a PNG.
          #expect(count >= icon.count - 16)
          #expect(try fixture.raster(of: cut).bytes == whole.bytes)
          continue
        }
        #expect(code == (count < 6 ? .notAnImage : .corruptImage), "\(count)")
      }
    }
  }

  @Test func `damage in a picture that is not decoded does not matter`() throws {
    let parts = [part(side: 16, blue: 1), part(side: 32, blue: 2)]
    let icon = IconWriter(parts).bytes
    let cut = Array(icon.dropLast(400))
    let small = try Variant(ImageVariant(width: 16, height: 16))
    #expect(fixture.failureCode(of: cut, as: small) == nil)
    #expect(fixture.failureCode(of: cut) == .corruptImage)
  }

  @Test func `a lenient decode takes the next picture that is whole`() throws {
    let parts = [part(side: 16, blue: 1), part(side: 32, blue: 2), try png(side: 48, blue: 3)]
    let icon = IconWriter(parts).bytes
    let variant = try Variant(ImageVariant(width: 32, height: 32, format: .png))
    let blue = { (icon: [UInt8]) in
      let rendered = try fixture.thumbnailer.thumbnail(of: icon, as: variant, isLenient: true)
      #expect(rendered.thumbnail.isDamaged)
      return try fixture.reader.raster(of: rendered.bytes)[16, 16].blue
    }
    // The second picture's header is unreadable.
    var damaged = icon
    let second = 6 + 3 * 16 + part(side: 16).bytes.count
    damaged[second] = 99
    #expect(fixture.failureCode(of: damaged, as: variant) == .corruptImage)
    #expect(try blue(damaged) == 3)
    // The last is cut, and the others are large enough.
    let cut = Array(icon.dropLast(40))
    #expect(fixture.failureCode(of: cut) == .corruptImage)
    #expect(try fixture.raster(of: cut, isLenient: true)[16, 16].blue == 2)
    // All are cut.
    let single = Array(IconWriter([part(side: 32, blue: 2, .blueGreenRed)]).bytes.dropLast(1_000))
    #expect(fixture.failureCode(of: single) == .corruptImage)
    let shown = try fixture.raster(of: single, isLenient: true)
    #expect(shown[16, 31].blue == 2)
    #expect(shown[16, 0] == Raster.Pixel(0, 0, 0, alpha: 0))
  }

  @Test func `an icon without a readable header is damaged`() throws {
    let icon = IconWriter([part(side: 16)]).bytes
    var offset = icon
    offset.replaceSubrange(18..<22, with: [0xFF, 0xFF, 0xFF, 0x7F])
    for damaged in [offset, Array(icon[..<30]), [0, 0, 1, 0, 0xFF, 0xFF]] {
      #expect(fixture.failureCode(of: damaged) == .corruptImage)
      #expect(fixture.failureCode(of: damaged, isLenient: true) == .corruptImage)
    }
  }

  @Test func `runs in an icon are named as not decoded`() throws {
    let part = IconWriter.Part(
      width: 16, height: 16, BitmapWriter(.info, .runs(8)).iconPart(Self.raster(side: 16)))
    let failure = #expect(throws: Failure.self) {
      try fixture.thumbnailer.thumbnail(of: IconWriter([part]).bytes, as: .standard)
    }
    #expect(failure?.code == .unsupportedFormat)
    #expect(failure?.detail.contains("run-length") == true)
  }
}
