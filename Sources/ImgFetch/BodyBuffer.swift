/// The bytes of one body as they come in, never more than a limit.
///
/// The buffer grows only by ``grow(to:)``, after the new size was asked for with
/// ``capacity(toFit:)``, so that its memory can be accounted for before it is taken.
struct BodyBuffer {
  private(set) var bytes: [UInt8] = []
  /// What the buffer was grown to; the array may be rounded up to a page or so more.
  private(set) var capacity = 0
  let maximumByteCount: Int
  /// The length that the answer declares; `nil` when it declares none. A hint.
  var declaredByteCount: Int?

  /// The most that is reserved on the word of a Content-Length, before any byte proves it.
  private static let maximumUnprovenByteCount = 1 << 20
  /// The least that the buffer of a body of unknown length grows by.
  private static let minimumGrowthByteCount = 64 << 10

  init(maximumByteCount: Int) {
    self.maximumByteCount = maximumByteCount
  }

  func hasRoom(for byteCount: Int) -> Bool {
    byteCount <= maximumByteCount - bytes.count
  }

  /// The capacity to grow to when `byteCount` more bytes do not fit the present one.
  ///
  /// While the buffer grows, the old and the new memory exist side by side. So a declared length is
  /// taken in two steps, and an unknown one by eighths: doubling would take three times the bytes.
  func capacity(toFit byteCount: Int) -> Int {
    let needed = bytes.count + byteCount
    guard needed > capacity else { return capacity }
    if let declaredByteCount, declaredByteCount >= needed {
      let isProven = bytes.count >= Self.maximumUnprovenByteCount / 2
      let reserved =
        isProven ? declaredByteCount : min(declaredByteCount, Self.maximumUnprovenByteCount)
      return min(max(reserved, needed), maximumByteCount)
    }
    let growth = max(bytes.count / 8, Self.minimumGrowthByteCount)
    return min(max(needed, bytes.count + growth), maximumByteCount)
  }

  /// - Parameter capacity: from ``capacity(toFit:)``.
  mutating func grow(to capacity: Int) {
    guard capacity > self.capacity else { return }
    bytes.reserveCapacity(capacity)
    self.capacity = capacity
  }

  /// Adds bytes that fit the limit and the capacity.
  mutating func append(_ chunk: some Collection<UInt8>) {
    precondition(chunk.count <= capacity - bytes.count, "a body outgrew what it was given")
    bytes.append(contentsOf: chunk)
  }
}
