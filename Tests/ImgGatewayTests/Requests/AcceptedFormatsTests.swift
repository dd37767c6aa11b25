import ImgClient
import ImgGateway
import Testing

@Suite struct AcceptedFormatsTests {
  private func format(
    _ accept: String?, frames: ImageVariant.Frames = .first
  ) -> ImageVariant.Format? {
    var query = ImageQuery("https://h/a")
    query.request.variant.frames = frames
    return AcceptedFormats(accept).format(for: query)
  }

  @Test(
    arguments: [
      (nil, .compatible), ("", .compatible), ("*/*", .compatible), ("image/*", .compatible),
      ("image/png,image/*;q=0.8", .compatible), ("image/png", .png),
      ("image/png,image/jpeg", .compatible),
      ("image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", .compatible),
      ("image/png,image/jpeg,image/webp;q=0.5", .compatible),
      ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", .avif),
      ("image/webp,*/*", .webp), ("IMAGE/WEBP ; Q=0.9 , */*;q=0.1", .webp),
      ("image/avif;q=0.5,image/webp;q=0.9", .webp), ("image/webp,image/avif", .avif),
      ("image/avif;q=0.3,image/*;q=0.8", .compatible), ("image/avif;q=0,image/webp", .webp),
      ("image/avif;q=0.000", .compatible), ("image/webp;q=0,*/*", .compatible),
      ("image/jpeg", .jpeg),
      ("text/html", .compatible), ("image/avif;q=2,image/webp;q=0.5", .webp),
      ("image/avif;q=nan", .compatible),
      ("image/avif;q=0.1234", .compatible), ("image/avif;q=", .compatible),
      ("image/avif;level=1;q=0.5", .avif),
      ("webp", .compatible), (",,;;,", .compatible), ("image/jpeg;q=0.9,image/webp;q=0.8", .auto),
    ] as [(String?, ImageVariant.Format)])
  func `the best format of a client`(accept: String?, expected: ImageVariant.Format) {
    #expect(format(accept) == expected)
  }

  @Test(
    arguments: [
      ("image/avif,image/webp", .webp), ("image/avif", .gif), ("*/*", .gif),
      ("image/gif,image/webp;q=0", .gif), ("image/gif,image/webp;q=0.1", .webp),
    ] as [(String, ImageVariant.Format)])
  func `an animation needs a format that holds one`(
    accept: String, expected: ImageVariant.Format
  ) {
    #expect(format(accept, frames: .all) == expected)
  }

  @Test func `a fixed format is not negotiated`() {
    var query = ImageQuery("https://h/a")
    query.format = .fixed
    #expect(AcceptedFormats("image/avif").format(for: query) == nil)
  }

  @Test func `a long field is read in part`() {
    #expect(format(String(repeating: "a/b,", count: 64) + "image/avif") == .compatible)
    #expect(format(String(repeating: "image/avif;q=0.5;", count: 10_000)) == .avif)
  }
}
