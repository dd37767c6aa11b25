package import ImgModel
import ImgSystem

/// Pictures of this machine.
extension Client {
  /// The size in bytes that a picture may have.
  package func maximumUploadByteCount() throws(ClientError) -> Int {
    Int(try status().limits.maxBodyByteCount)
  }

  /// Sends a picture, see ``upload(_:byteCount:as:options:)``.
  package func upload(
    _ picture: [UInt8], as url: String?, options: RequestOptions
  ) throws -> GetResult {
    try upload(
      MemoryFile(containing: picture), byteCount: picture.count, as: url, options: options)
  }

  /// Stores a picture as if it had been fetched from a URL just now.
  ///
  /// - Parameter store: that of the coordinator.
  /// - Returns: its thumbnail; its original if nothing else is kept.
  /// - Throws: a ``Failure`` if the picture cannot be decoded or stored.
  package func put(
    _ picture: [UInt8], as url: ImageURL, options: RequestOptions, in store: LocalStore
  ) throws -> StoredRecord {
    let asked = WallTime.now
    let result = try upload(picture, as: url.text, options: options)
    if let failure = result.uncached?.facts.failure ?? result.outcome.failure() { throw failure }
    let name = options.fetch.name(of: url)
    let reader = try store.reader()
    let stored =
      options.keep == .original
      ? try reader?.original(of: name, isLenient: options.isLenient)
      : try reader?.thumbnail(
        for: name, variant: options.variant, isLenient: options.isLenient, at: asked)
    guard let stored else { throw Failure.isGone }
    return StoredRecord(stored.facts)
  }
}
