import ImgModel
import Testing

@Suite struct ImageFormatTests {
  @Test(
    arguments: [
      ("a.jpg", .jpeg), ("a.JPEG", .jpeg), ("a.jpe", .jpeg), ("a.jfif", .jpeg),
      ("/srv/b.c/a.b.png", .png), ("a.WebP", .webp), ("a.avif", .avif), ("a.gif", .gif),
      ("a.tif", .tiff), ("a.heic", .heif), ("a.jxl", .jxl), ("a.svgz", .svg), ("a.j2k", .jp2),
      ("a.bmp", .bmp), ("a.DIB", .bmp), ("favicon.ico", .ico), ("a.cur", .ico), ("a.PPM", .pnm),
      ("a.pam", .pnm),
      ("a", nil), ("a.", nil), ("a.txt", nil), (".png", nil), ("b.png/a", nil), ("", nil),
      ("b/.png", nil), ("png", nil), ("a.png ", nil),
    ] as [(String, ImageFormat?)])
  func `the extension of a file name selects the format`(name: String, format: ImageFormat?) {
    #expect(ImageFormat(extensionOf: name) == format)
  }

  @Test func `each format is selected by its own extension`() {
    for format in ImageFormat.allCases {
      #expect(ImageFormat(extensionOf: "a.\(format.fileExtension)") == format)
    }
  }

  @Test func `thumbnails can be JPEG, PNG, WebP, GIF or AVIF`() {
    let formats = ImageFormat.allCases.compactMap(Variant.Format.init)
    #expect(formats == [.jpeg, .png, .webp, .gif, .avif])
  }
}
