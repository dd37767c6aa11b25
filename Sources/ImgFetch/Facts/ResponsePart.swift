/// The part of a file that a response holds, and how far it has come.
struct ResponsePart {
  /// Where the next byte lies in the file.
  private(set) var offset: Int
  /// Where the part ends; `nil` if the response does not say so.
  let end: Int?
  /// Whether it is the whole file.
  let isWhole: Bool
  /// The bytes before ``offset`` that are not used yet.
  var pending: [UInt8] = []

  init(offset: Int, end: Int?, isWhole: Bool) {
    self.offset = offset
    self.end = end
    self.isWhole = isWhole
  }

  /// - Parameter start: what lies before it is passed over.
  mutating func append(_ chunk: UnsafeBufferPointer<UInt8>, from start: Int) {
    let skipped = min(chunk.count, max(0, start - offset))
    unsafe pending.append(contentsOf: UnsafeBufferPointer(rebasing: chunk[skipped...]))
    offset += chunk.count
  }
}
