import ImgModel

/// A list in batches that fit a frame.
struct SubmissionBatches<URLs: IteratorProtocol<String>> {
  private var urls: URLs
  private var batcher = SubmissionBatcher()

  init(_ urls: URLs) {
    self.urls = urls
  }

  /// The next batch; `nil` at the end of the list.
  mutating func next() -> [String]? {
    while let url = urls.next() {
      if let batch = batcher.add(Self.shortened(url)) { return batch }
    }
    return batcher.finish()
  }

  /// Of a text that is longer than any URL, enough is sent to show that it is.
  private static func shortened(_ url: String) -> String {
    let byteCount = ImageURL.maximumByteCount + 1
    return url.utf8.count <= byteCount
      ? url : String(decoding: url.utf8.prefix(byteCount), as: UTF8.self)
  }
}
