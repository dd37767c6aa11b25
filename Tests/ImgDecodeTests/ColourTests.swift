import ImgModel
import TestPictures
import Testing

@testable import ImgDecode

/// Colours: what a profile says, and what the samples of a format mean without one.
@Suite(.timeLimit(.minutes(20))) struct ColourTests {
  private let fixture: ThumbnailFixture

  init() throws {
    fixture = try ThumbnailFixture()
  }

  private static let png = Result { try Variant(width: 256, height: 256, format: .png) }

  private func raster(of picture: [UInt8]) throws -> Raster {
    let rendered = try fixture.thumbnailer.thumbnail(of: picture, as: Self.png.get())
    return try fixture.reader.raster(of: rendered.bytes)
  }

  @Test(arguments: [PictureFormat.grayJPEG, .grayTIFF])
  func `a gray picture with a gray profile stays gray and opaque`(format: PictureFormat) throws {
    let plain = try raster(of: fixture.maker.card(index: 2, format: format))
    // About the tone curve of sRGB, so that hardly anything changes.
    let profiled = try raster(
      of: fixture.maker.card(index: 2, format: format, profile: ColourProfile.gray(gamma: 2.2)))
    for (x, y) in [(5, 5), (250, 5), (5, 187), (250, 187)] {
      let pixel = profiled[x, y]
      #expect(pixel.resembles(plain[x, y], tolerance: 6), "\(pixel) for \(plain[x, y])")
      #expect(pixel.red == pixel.green && pixel.green == pixel.blue && pixel.alpha == 255)
    }
  }

  @Test(arguments: [PictureFormat.grayJPEG, .grayTIFF])
  func `a gray profile is obeyed`(format: PictureFormat) throws {
    let plain = try raster(of: fixture.maker.card(index: 2, format: format))
    let profiled = try raster(
      of: fixture.maker.card(index: 2, format: format, profile: ColourProfile.gray(gamma: 1)))
    #expect(Int(profiled[5, 5].red) > Int(plain[5, 5].red) + 30)
  }

  @Test(arguments: [PictureFormat.jpeg, .tiff])
  func `a profile with a table for one intent is used with that intent`(
    format: PictureFormat
  ) throws {
    let picture = try raster(
      of: fixture.maker.card(index: 2, format: format, profile: ColourProfile.swappedPerceptual))
    let corner = picture[5, 5]
    #expect(corner.blue > 150 && corner.red < 100, "\(corner)")
  }

  @Test func `a profile for other pixels is ignored`() throws {
    let plain = try raster(of: fixture.maker.card(index: 2, format: .png))
    let profiled = try raster(
      of: fixture.maker.card(index: 2, format: .png, profile: ColourProfile.gray(gamma: 1)))
    #expect(profiled.bytes == plain.bytes)
  }

  @Test func `CMYK with transparency has the colours of CMYK`() throws {
    let opaque = try raster(
      of: fixture.maker.card(index: 2, width: 256, height: 192, format: .cmykTIFF))
    let transparent = try raster(
      of: fixture.maker.card(
        index: 2, width: 256, height: 192, format: .cmykTIFF, hasAlpha: true))
    for (x, y) in [(5, 5), (250, 5), (5, 187), (250, 187)] {
      #expect(transparent[x, y].resembles(opaque[x, y], tolerance: 4))
    }
    #expect(transparent[128, 180].alpha < 10)
  }

  @Test func `the canvas around the first frame of an animation is transparent`() throws {
    // A canvas of 4 × 4 with one frame of 2 × 2 at (1, 1) in the only colour, red.
    let canvas: [UInt8] = Array("GIF89a".utf8) + [4, 0, 4, 0, 0x80, 0, 0]
    let colours: [UInt8] = [200, 0, 0, 0, 0, 0]
    let frame: [UInt8] = [0x2C, 1, 0, 1, 0, 2, 0, 2, 0, 0]
    // LZW in codes of three bits: clear, four pixels of colour 0 in codes of three and four bits,
    // end.
    let data: [UInt8] = [2, 3, 0x04, 0x00, 0x05, 0]
    let picture = try raster(of: canvas + colours + frame + data + [0x3B])
    #expect(picture[0, 0].alpha == 0 && picture[3, 3].alpha == 0)
    #expect(picture[1, 1] == Raster.Pixel(200, 0, 0) && picture[2, 2] == Raster.Pixel(200, 0, 0))
  }

  // MARK: - Gray of video

  /// A file whose only item has these properties.
  private func file(properties: [[UInt8]]) -> [UInt8] {
    func box(_ type: String, _ payload: [UInt8]) -> [UInt8] {
      let count = payload.count + 8
      return [0, 0, UInt8(count >> 8), UInt8(count & 0xFF)] + Array(type.utf8) + payload
    }
    let container = box(
      "ipco",
      properties.flatMap { box(String(decoding: $0[..<4], as: UTF8.self), Array($0[4...])) })
    return box("ftyp", Array("avif".utf8) + [0, 0, 0, 0])
      + box("meta", [0, 0, 0, 0] + box("iprp", container))
  }

  @Test func `gray from 16 to 235 is told by the stream and by the file`() {
    // Reduced header of a still of profile 0: level 0, sides of 6 bits (16 × 16), no tool, 8 bits,
    // gray, no description of colours, then the bit of the range.
    func stream(isGray: Bool, isFull: Bool) -> [UInt8] {
      var bits = "00011" + "00000" + "0101" + "0101" + "001111" + "001111" + "000000" + "0"
      bits += (isGray ? "1" : "0") + "0" + (isFull ? "1" : "0")
      bits += String(repeating: "0", count: 8 - bits.count % 8)
      let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
        UInt8(bits.dropFirst(start).prefix(8), radix: 2) ?? 0
      }
      return Array("av1C".utf8) + [0x81, 0, isGray ? 0x1C : 0x0C, 0, 0x0A, UInt8(bytes.count)]
        + bytes
    }
    func nclx(isFull: Bool) -> [UInt8] {
      Array("colrnclx".utf8) + [0, 1, 0, 13, 0, 6, isFull ? 0x80 : 0]
    }
    #expect(AV1Gray.isLimited(in: file(properties: [stream(isGray: true, isFull: false)])))
    #expect(!AV1Gray.isLimited(in: file(properties: [stream(isGray: true, isFull: true)])))
    #expect(!AV1Gray.isLimited(in: file(properties: [stream(isGray: false, isFull: false)])))
    #expect(
      AV1Gray.isLimited(
        in: file(properties: [stream(isGray: true, isFull: true), nclx(isFull: false)])))
    #expect(
      !AV1Gray.isLimited(
        in: file(properties: [stream(isGray: true, isFull: false), nclx(isFull: true)])))
    #expect(!AV1Gray.isLimited(in: []))
  }
}
