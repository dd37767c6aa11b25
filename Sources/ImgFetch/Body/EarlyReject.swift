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

  /// - Parameters:
  ///   - body: at least ``byteCount`` bytes.
  ///   - contentEncoding: what the body is compressed with, if the head says so. Compressed bytes
  ///     match no format, so the failure names the reason.
  func failure(of body: [UInt8], contentEncoding: String?) -> Failure? {
    guard let failure = examine(Array(body.prefix(byteCount))) else { return nil }
    guard failure.code == .notAnImage, let contentEncoding else { return failure }
    return Failure(
      stage: failure.stage, code: failure.code, httpStatus: failure.httpStatus,
      detail: "\(failure.detail); Content-Encoding: \(contentEncoding) was not asked for")
  }
}
