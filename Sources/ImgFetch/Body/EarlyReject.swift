package import ImgModel

/// Rejects a body by its first bytes, before the rest is fetched.
///
/// A body that ends earlier is not examined: it is in already, and its decoder examines it anyway.
package struct EarlyReject {
  /// How many bytes are examined.
  let byteCount: Int
  private let examine: ([UInt8]) -> Failure?

  /// - Parameter examine: gets the first `byteCount` bytes, and returns the failure of the URL;
  ///   `nil` lets the whole body come in.
  package init(byteCount: Int, examine: @escaping ([UInt8]) -> Failure?) {
    self.byteCount = byteCount
    self.examine = examine
  }

  /// - Parameter body: at least ``byteCount`` bytes.
  func failure(of body: [UInt8]) -> Failure? { examine(Array(body.prefix(byteCount))) }
}
