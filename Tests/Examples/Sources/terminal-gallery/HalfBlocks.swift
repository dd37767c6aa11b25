import ImgClient

/// Pixels as characters whose upper half has one colour and whose lower half has another.
enum HalfBlocks {
  static func text(of pixels: ImagePixels) -> String {
    stride(from: 0, to: pixels.height, by: 2).map { line(y: $0, of: pixels) }.joined()
  }

  private static func line(y: Int, of pixels: ImagePixels) -> String {
    var text = ""
    var style = ""
    for x in 0..<pixels.width {
      let upper = colour(of: pixels[x, y])
      let lower = y + 1 < pixels.height ? colour(of: pixels[x, y + 1]) : nil
      let (character, next) =
        switch (upper, lower) {
        case (nil, nil): (" ", "0")
        case (let upper?, nil): ("▀", "0;38;2;\(upper)")
        case (nil, let lower?): ("▄", "0;38;2;\(lower)")
        case (let upper?, let lower?): ("▀", "38;2;\(upper);48;2;\(lower)")
        }
      if next != style { text += "\u{1B}[\(next)m" }
      style = next
      text += character
    }
    return text + "\u{1B}[0m\n"
  }

  /// - Returns: `nil` for a pixel that is more transparent than not.
  private static func colour(of pixel: ImagePixels.Pixel) -> String? {
    pixel.alpha < 128 ? nil : "\(pixel.red);\(pixel.green);\(pixel.blue)"
  }
}
