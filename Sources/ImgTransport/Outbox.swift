import ImgSystem

/// Frames that the kernel has not taken, and the files that go with them.
struct Outbox {
  private var bytes: [UInt8] = []
  /// Index in `bytes` of the first byte that was not sent.
  private var start = 0
  /// The frames in `bytes` whose files were not sent, in their order.
  private var files: [(frame: Range<Int>, file: PassedFile)] = []

  private static let keptByteCount = 16 << 10

  var byteCount: Int { bytes.count - start }
  var fileCount: Int { files.count }
  var isEmpty: Bool { byteCount == 0 }
  /// The memory of the frames. The little that is kept for the next ones does not count.
  var heldByteCount: Int {
    isEmpty && bytes.capacity <= Self.keptByteCount ? 0 : bytes.capacity
  }

  mutating func append(_ frame: [UInt8], _ file: PassedFile?) {
    bytes.append(contentsOf: frame)
    if let file { files.append(((bytes.count - frame.count)..<bytes.count, file)) }
  }

  /// What one call may send: a frame that has a file goes with it and by itself, so that the
  /// receiver can tell whose the file is, see ``Inbox``.
  var next: (bytes: ArraySlice<UInt8>, file: PassedFile?) {
    guard let (frame, file) = files.first else { return (bytes[start...], nil) }
    return frame.lowerBound == start ? (bytes[frame], file) : (bytes[start..<frame.lowerBound], nil)
  }

  /// The kernel has taken so many bytes of ``next``, and with the first of them the file.
  mutating func wasSent(_ count: Int) {
    if count > 0, files.first?.frame.lowerBound == start { files.removeFirst() }
    start += count
  }

  /// Gives back the memory of what was sent, once that is all or much. A little is kept for the next
  /// frames.
  mutating func compact() {
    guard start > 0, isEmpty || start > 1 << 20 else { return }
    if bytes.capacity > Self.keptByteCount {
      bytes = Array(bytes[start...])
    } else {
      bytes.removeFirst(start)
    }
    files = files.map { (($0.frame.lowerBound - start)..<($0.frame.upperBound - start), $0.file) }
    start = 0
  }
}
