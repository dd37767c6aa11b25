import ImgModel
import TestOrigin
import TestPictures

/// The numbered pictures of the origin, from 1, in all common formats by turns; some of them, if so
/// wanted, are missing or no pictures.
///
/// Made before the first request, so that serving costs nothing but the copying. From the 1,001st
/// on the bodies repeat.
struct PictureCatalogue: Sendable {
  private static let distinctLimit = 1_000
  private static let formats: [(picture: PictureFormat, image: ImageFormat)] = [
    (.jpeg, .jpeg), (.png, .png), (.webp, .webp), (.progressiveJPEG, .jpeg), (.gif, .gif),
    (.interlacedPNG, .png), (.tiff, .tiff), (.avif, .avif),
  ]

  /// In the order of the numbers.
  let paths: [String]

  private let count: Int
  private let notFoundInterval: Int?
  private let notImageInterval: Int?
  private let bodies: [[UInt8]]

  init(_ options: ServeOptions) throws {
    count = options.pictureCount
    notFoundInterval = options.notFoundInterval
    notImageInterval = options.notImageInterval
    let maker = try PictureMaker.start()
    bodies = try (0..<min(count, Self.distinctLimit)).map { index in
      try maker.card(
        index: index + 1, width: options.width, height: options.height,
        format: Self.formats[index % Self.formats.count].picture)
    }
    paths = (0..<count).map(Self.path)
  }

  /// Nil for a path that is none of the catalogue's.
  func behaviour(for path: String) -> Behaviour? {
    let prefix = "/picture/"
    guard path.hasPrefix(prefix),
      let number = Int(path.dropFirst(prefix.count).prefix { $0 != "." }),
      (1...max(1, count)).contains(number), path == Self.path(ofIndex: number - 1)
    else { return nil }
    if let notFoundInterval, number.isMultiple(of: notFoundInterval) { return .status(404) }
    if let notImageInterval, number.isMultiple(of: notImageInterval) {
      return .body(Array("This is not a picture.\n".utf8), contentType: "text/plain")
    }
    let index = (number - 1) % bodies.count
    let format = Self.format(ofIndex: number - 1)
    return .body(bodies[index], contentType: "image/\(format.rawValue)")
  }

  private static func path(ofIndex index: Int) -> String {
    "/picture/\(index + 1).\(format(ofIndex: index).fileExtension)"
  }

  /// The limit on distinct bodies is a multiple of the number of formats, so a repeated body keeps
  /// its format.
  private static func format(ofIndex index: Int) -> ImageFormat {
    formats[index % formats.count].image
  }
}
