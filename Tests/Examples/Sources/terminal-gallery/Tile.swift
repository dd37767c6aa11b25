import ImgClient

/// What the gallery shows in one place.
enum Tile {
  case waiting
  /// The thumbnail is there, and its pixels are not.
  case loaded(LoadedImage)
  case drawn(LoadedImage, ImagePixels)
  case failed(ImageError)

  var isFinal: Bool {
    switch self {
    case .waiting, .loaded: false
    case .drawn, .failed: true
    }
  }

  /// What is shown of the picture, which fits a box.
  func pixels(width: Int, height: Int) -> ImagePixels? {
    switch self {
    case .waiting:
      ImagePlaceholder.colour(.init(red: 60, green: 60, blue: 60))
        .pixels(width: width, height: height)
    case .loaded(let image): image.placeholder.pixels(width: image.width, height: image.height)
    case .drawn(_, let pixels): pixels
    case .failed: Self.cross(width: width, height: height)
    }
  }

  /// Below the name.
  var text: String {
    switch self {
    case .waiting: "…"
    case .loaded(let image), .drawn(let image, _):
      "\(image.source.width) × \(image.source.height) \(image.source.format)"
    case .failed(let error): error.code.rawValue
    }
  }

  /// Both diagonals on a dark red ground.
  private static func cross(width: Int, height: Int) -> ImagePixels? {
    let stroke = max(1, width / 12)
    var bytes: [UInt8] = []
    for y in 0..<height {
      let place = y * (width - 1) / max(1, height - 1)
      for x in 0..<width {
        let isStroke = abs(x - place) < stroke || abs(width - 1 - x - place) < stroke
        bytes += isStroke ? [220, 90, 90, 255] : [70, 20, 20, 255]
      }
    }
    return ImagePixels(width: width, height: height, bytes: bytes)
  }
}
