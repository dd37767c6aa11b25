import FoundationEssentials

/// SVGs, 32 × 24 pixels of size.
package enum Drawing {
  /// - Parameters:
  ///   - prologue: what stands before the root element.
  ///   - content: what stands inside it.
  package static func svg(prologue: String = "", _ content: String) -> [UInt8] {
    let start =
      "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' "
      + "width='32' height='24'>"
    return Array("\(prologue)\(start)\(content)</svg>".utf8)
  }

  /// An element that shows a picture.
  package static func image(_ location: String) -> String {
    "<image width='32' height='24' xlink:href='\(location)'/>"
  }

  /// An element that contains a picture and shows it.
  package static func image(
    embedding picture: [UInt8], as mediaType: String = "image/png"
  ) -> String {
    image("data:\(mediaType);base64,\(Data(picture).base64EncodedString())")
  }
}
