import ImgHTTP

/// The longest side that requests may name. A side that a request leaves out follows from the picture, and may
/// be longer.
package struct SideLimit: Hashable, Sendable {
  /// In pixels; `nil` for that of thumbnails.
  private let maximum: Int?

  package static let none = SideLimit(nil)

  package init(_ maximum: Int?) {
    self.maximum = maximum
  }

  /// - Parameter side: in pixels of the thumbnail; 0 for one that follows from the picture.
  /// - Throws: 422.
  func require(_ side: Int) throws(RequestRejection) {
    guard let maximum, side > maximum else { return }
    throw RequestRejection(
      .unprocessableContent, code: "too_large_side",
      "a side of \(side) pixels is longer than \(maximum), the limit of this server; ask for a "
        + "smaller picture")
  }
}
