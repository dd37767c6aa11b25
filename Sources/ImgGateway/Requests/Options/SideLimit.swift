import ImgClient
import ImgHTTP

/// The longest side of thumbnails that requests may ask for.
///
/// A picture that covers its box without a crop (weserv's `fit=outside`) can be longer, because its proportions
/// decide that. It is not enlarged then, so that a small picture does not become a large thumbnail.
package struct SideLimit: Hashable, Sendable {
  /// In pixels; `nil` for that of thumbnails.
  private let maximum: Int?

  package static let none = SideLimit(nil)

  package init(_ maximum: Int?) {
    self.maximum = maximum
  }

  /// - Parameter side: in pixels of the thumbnail; 0 for one that the request leaves open.
  /// - Throws: 422.
  func require(_ side: Int) throws(RequestRejection) {
    guard let maximum, side > maximum else { return }
    throw RequestRejection(
      .unprocessableContent, code: "too_large_side",
      "a side of \(side) pixels is longer than \(maximum), the limit of this server; ask for a "
        + "smaller picture")
  }

  /// The variant within the limit: a side that the request leaves open is at most as long.
  ///
  /// - Parameter variant: of sides that ``require(_:)`` accepts.
  func bounding(_ variant: ImageVariant) -> ImageVariant {
    guard let maximum else { return variant }
    var bounded = variant
    bounded.width = min(variant.width, maximum)
    bounded.height = min(variant.height, maximum)
    if variant.mode == .fill, variant.crop == nil { bounded.enlarges = false }
    return bounded
  }
}
