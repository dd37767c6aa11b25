import FoundationEssentials
import ImgModel

/// Writes placeholders as SVG.
struct PlaceholderDrawing {
  private static let grey = "#9a9a9a"
  /// The longer side of the picture of a ThumbHash, which has no details that more pixels would show.
  private static let thumbHashSide = 32.0
  /// The width of a letter in parts of the height of the font, about.
  private static let letterWidth = 0.6

  let width: Int
  let height: Int

  func document(of placeholder: ImagePlaceholder) -> String {
    switch placeholder {
    case .none: document("")
    case .colour(let colour): document(rectangle(filledWith: Self.css(colour)))
    case .thumbHash(let bytes): document(ThumbHash(bytes: bytes).map(picture) ?? "")
    case .symbol(let symbol):
      // Drawn on a square of 24 units.
      document(#"<g fill="\#(Self.grey)">\#(Self.shapes(of: symbol))</g>"#, viewBox: "0 0 24 24")
    case .text(let text): document(line(text))
    }
  }

  private func document(_ content: String, viewBox: String? = nil) -> String {
    #"<svg xmlns="http://www.w3.org/2000/svg" width="\#(width)" height="\#(height)" "#
      + #"viewBox="\#(viewBox ?? "0 0 \(width) \(height)")">\#(content)</svg>"#
  }

  private func rectangle(filledWith colour: String) -> String {
    #"<rect width="\#(width)" height="\#(height)" fill="\#(colour)"/>"#
  }

  private static func css(_ colour: ImageVariant.Colour) -> String {
    RGBColour(red: colour.red, green: colour.green, blue: colour.blue).cssText
  }

  private func picture(of hash: ThumbHash) -> String {
    let drawing = ThumbHashDrawing(hash)
    let ratio = drawing.aspectRatio
    let side = { (share: Double) in max(1, Int((Self.thumbHashSide * min(1, share)).rounded())) }
    guard let pixels = drawing.pixels(width: side(ratio), height: side(1 / ratio)) else {
      preconditionFailure("both sides are positive")
    }
    let data = Data(PlainPNG.file(of: pixels)).base64EncodedString()
    return #"<image width="\#(width)" height="\#(height)" preserveAspectRatio="none" "#
      + #"href="data:image/png;base64,\#(data)"/>"#
  }

  /// A line of text that fits the width.
  private func line(_ text: String) -> String {
    let letters = Double(max(2, text.count)) * Self.letterWidth
    let size = max(1, Int(min(Double(height) * 0.5, Double(width) * 0.9 / letters)))
    return #"<text x="50%" y="50%" text-anchor="middle" dominant-baseline="central" "#
      + #"font-family="sans-serif" font-size="\#(size)" fill="\#(Self.grey)">"#
      + Self.escaped(text) + "</text>"
  }

  /// As the content of an element (XML 1.0 section 2.4). A character that no document may have is replaced.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\t", "\n", "\r", "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}",
        "\u{10000}"..."\u{10FFFF}":
        escaped.unicodeScalars.append(scalar)
      default: escaped += "\u{FFFD}"
      }
    }
    return escaped
  }

  private static func shapes(of symbol: ImagePlaceholder.Symbol) -> String {
    switch symbol {
    case .photo:
      #"<path fill-rule="evenodd" d="M4 4h16a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V6"#
        + #"a2 2 0 0 1 2-2zm0 2v12h16V6z"/><circle cx="8" cy="10" r="1.8"/>"#
        + #"<path d="M5 17l5-4.5 2.5 2L16 10l3.5 5V17z"/>"#
    case .circle: #"<circle cx="12" cy="12" r="10"/>"#
    case .person:
      #"<circle cx="12" cy="8" r="4.5"/><path d="M3 22a9 8 0 0 1 18 0z"/>"#
    case .cloud:
      #"<path d="M7 19a5 5 0 0 1-.6-9.96A6 6 0 0 1 17.9 10.1 4.5 4.5 0 0 1 17.5 19z"/>"#
    }
  }
}
