import ImgClient
import ImgModel

/// The value of weserv's option `default`: the address of another picture, or here also a drawing.
///
/// weserv redirects to the address; here the other picture is a thumbnail of the same variant.
enum WeservFallback {
  /// Reads `blank`, the name of a symbol such as `photo`, a colour with `#`, or an address. A host without
  /// a dot needs its scheme.
  ///
  /// - Throws: 400 for an address that is none; 422 for a colour or a word that is none.
  static func fallback(_ value: OptionValue) throws(RequestRejection) -> ImageQuery.Fallback {
    if value.text == "blank" { return .placeholder(.none) }
    if let symbol = ImagePlaceholder.Symbol(rawValue: value.text) {
      return .placeholder(.symbol(symbol))
    }
    if value.text.hasPrefix("#") { return .placeholder(.colour(try ColourText.colour(value))) }
    guard value.text.utf8.contains(where: { ".:/".utf8.contains($0) }) else {
      throw value.invalid(
        "blank, circle, cloud, person, photo, a colour such as #eee, or an address such as "
          + "https://example.org/a.jpg")
    }
    return .picture(url: try SourceAddress.completed(value.text).text)
  }
}
