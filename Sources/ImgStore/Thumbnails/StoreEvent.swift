/// An event of a store that is worth a line in the log.
package enum StoreEvent: Hashable, Sendable {
  /// The store was damaged and recreated.
  case recreated(StoreError)
  /// The store was of an older release, and its thumbnails were dropped.
  case droppedSchema(UInt32, directory: String)
}

extension StoreEvent: CustomStringConvertible {
  /// A sentence.
  package var description: String {
    switch self {
    case .recreated(let error):
      "the store in \(error.path) was damaged and is recreated; requests make its thumbnails again "
        + "(\(error.cause))"
    case .droppedSchema(let schema, let directory):
      "the store in \(directory) was of an older release (schema \(schema)) and is recreated; "
        + "requests make its thumbnails again"
    }
  }
}
