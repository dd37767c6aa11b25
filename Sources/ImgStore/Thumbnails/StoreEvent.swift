/// What happened to a store that whoever looks after it should be told, once.
package enum StoreEvent: Hashable, Sendable {
  /// Its files were damaged, so that it was removed and began anew.
  case beganAnew(StoreError)
  /// It was of an older release, whose thumbnails were dropped.
  case droppedSchema(UInt32, directory: String)
}

extension StoreEvent: CustomStringConvertible {
  /// A sentence.
  package var description: String {
    switch self {
    case .beganAnew(let error):
      "the store in \(error.path) was damaged and begins anew, its thumbnails are made again "
        + "(\(error.cause))"
    case .droppedSchema(let schema, let directory):
      "the store in \(directory) was of an older release (schema \(schema)) and begins anew, its "
        + "thumbnails are made again"
    }
  }
}
