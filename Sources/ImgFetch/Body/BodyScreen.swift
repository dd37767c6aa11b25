package import ImgModel

/// Tells by the first bytes of a body that the rest is not worth fetching.
///
/// A body that ends before there are as many is not judged: it is in already, and whoever gets it
/// judges it anyway.
package struct BodyScreen {
  /// How many bytes it takes.
  let byteCount: Int
  private let judge: ([UInt8]) -> Failure?

  /// - Parameter judge: gets the first `byteCount` bytes, and gives what the URL is to fail with;
  ///   `nil` lets the body come in whole.
  package init(byteCount: Int, judge: @escaping ([UInt8]) -> Failure?) {
    self.byteCount = byteCount
    self.judge = judge
  }

  /// - Parameter body: at least ``byteCount`` bytes.
  func refusal(of body: [UInt8]) -> Failure? {
    judge(Array(body.prefix(byteCount)))
  }
}
