/// How fast two growing numbers grew lately: smooth enough to read, quick enough to be true.
package struct RateWindow: Sendable {
  private struct Sample {
    let elapsed: Duration
    let images: Int
    let bytes: Int64
  }

  private static let width = Duration.seconds(10)
  /// Samples closer than this are not kept, so that there are never more than a window has room
  /// for.
  private static let spacing = Duration.milliseconds(200)
  /// A shorter time says more about chance than about speed.
  private static let minimumWidth = Duration.milliseconds(500)

  private var samples: [Sample] = []

  /// `nil` until there is enough to tell.
  package private(set) var imagesPerSecond: Double?
  package private(set) var bytesPerSecond: Double?

  package init() {}

  /// - Parameters:
  ///   - elapsed: since any fixed moment; never less than in the call before.
  ///   - images: so many until now.
  ///   - bytes: so many until now.
  package mutating func add(at elapsed: Duration, images: Int, bytes: Int64) {
    // The newest sample that is as old as the window stays: rates are taken from it.
    let expired = samples.lastIndex { $0.elapsed <= elapsed - Self.width } ?? 0
    samples.removeFirst(expired)
    if let first = samples.first, elapsed - first.elapsed >= Self.minimumWidth {
      let seconds = (elapsed - first.elapsed) / .seconds(1)
      imagesPerSecond = Double(images - first.images) / seconds
      bytesPerSecond = Double(bytes - first.bytes) / seconds
    }
    if samples.last.map({ elapsed - $0.elapsed >= Self.spacing }) ?? true {
      samples.append(Sample(elapsed: elapsed, images: images, bytes: bytes))
    }
  }
}
