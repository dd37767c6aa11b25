package import ImgModel

/// A HEIF or AVIF file whose pictures follow each other in time.
package struct SequenceFile {
  /// Whether it has a picture for readers that show no sequence.
  package let hasStill: Bool
  private let movie: ISOMediaBox?

  /// - Parameter source: has all bytes of the file.
  /// - Returns: `nil` for other files.
  package init?(_ source: any ByteSource, as format: ImageFormat) {
    let window = ByteWindow(source)
    guard [.avif, .heif].contains(format),
      let brand = try? window.fields(at: 8, count: 4).name(0), HEIFBrand.isSequence(brand)
    else { return nil }
    var (boxes, hasStill, movie) = (ISOMediaBoxes(window), false, ISOMediaBox?.none)
    while !hasStill || movie == nil, let box = try? boxes.next() {
      switch box.type {
      case "meta" where !hasStill: hasStill = (try? HEIFItems(meta: box, in: window)) != nil
      case "moov" where movie == nil: movie = box
      default: break
      }
    }
    (self.hasStill, self.movie) = (hasStill, movie)
  }

  /// - Throws: ``FactsError/unsupported(_:)`` for a codec that is not decoded, or another error for a
  ///   damaged file. The brand promises a movie, so that a file without one was cut before it.
  package func sequence() throws(FactsError) -> PictureSequence {
    guard let movie else {
      throw .invalid("a sequence without its moov box; its end may be missing")
    }
    return try PictureSequence(movie: movie)
  }
}
