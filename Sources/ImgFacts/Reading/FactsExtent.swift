/// How much is read of a file.
package enum FactsExtent: Int, Comparable, Sendable, CaseIterable {
  /// Up to where size, orientation, samples and colour model are known.
  case header
  /// Also the metadata in front of the pixels, or where the file says it lies.
  case metadata
  /// Also what a walk through the whole file finds: frames, delays, metadata behind the pixels. The
  /// pixels themselves are passed over where the format allows it.
  case all

  package static func < (left: FactsExtent, right: FactsExtent) -> Bool {
    left.rawValue < right.rawValue
  }
}
