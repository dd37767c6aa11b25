/// What a client is told of a picture while it arrives, before the answer to its request.
package struct ArrivalUpdates: OptionSet, Hashable, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// What the picture looks like so far.
  package static let previews = ArrivalUpdates(rawValue: 1 << 0)
  /// How much of it has arrived.
  package static let progress = ArrivalUpdates(rawValue: 1 << 1)
}
