/// The recent growth rates of two counters, averaged over the last seconds.
package struct RecentRates: Sendable {
  private struct Sample {
    let elapsed: Duration
    let images: Int
    let bytes: Int64
  }

  private static let width = Duration.seconds(10)
  /// Samples closer than this are dropped, which bounds the number of samples.
  private static let spacing = Duration.milliseconds(200)
  /// A shorter time gives no meaningful rate.
  private static let minimumWidth = Duration.milliseconds(500)

  private var samples: [Sample] = []

  /// `nil` until the samples span ``minimumWidth``.
  package private(set) var imagesPerSecond: Double?
  package private(set) var bytesPerSecond: Double?

  package init() {}

  /// - Parameters:
  ///   - elapsed: the time since a fixed moment. It never decreases.
  ///   - images: the total so far.
  ///   - bytes: the total so far.
  package mutating func add(at elapsed: Duration, images: Int, bytes: Int64) {
    // The newest sample that is as old as ``width`` stays, because the rates start there.
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
