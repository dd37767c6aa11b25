import ImgWire

/// Collects the lines of a list into batches that fit a frame.
package struct SubmissionBatcher: Sendable {
  private var batch: [String] = []
  private var byteCount = 0

  package init() {}

  /// Adds a line to the unfinished batch, or to the next one if that is full.
  ///
  /// - Returns: the full batch; `nil` if the line fits.
  package mutating func add(_ line: String) -> [String]? {
    let lineByteCount = line.utf8.count
    let isFull =
      batch.count == SubmissionLines.maximumCount
      || byteCount + lineByteCount > SubmissionLines.maximumByteCount
    let full = isFull ? finish() : nil
    batch.append(line)
    byteCount += lineByteCount
    return full
  }

  /// The unfinished batch; `nil` if it is empty.
  package mutating func finish() -> [String]? {
    guard !batch.isEmpty else { return nil }
    defer {
      batch = []
      byteCount = 0
    }
    return batch
  }
}
