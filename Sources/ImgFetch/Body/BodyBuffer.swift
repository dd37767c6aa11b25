internal import ImgSystem

/// The bytes of one body as they come in, never more than a limit: in memory and, once they are too
/// many for that, in a file.
///
/// The buffer grows only by ``grow(to:)`` and ``move(to:capacity:)``, after the new size was asked
/// for with ``capacity(toFit:)``, so that it can be accounted for before it is taken.
struct BodyBuffer {
  /// Those in memory; empty once they are in a file.
  private(set) var bytes: [UInt8] = []
  private var spool: SpoolWriter?
  /// What the buffer was grown to; the array may be rounded up to a page or so more.
  private(set) var capacity = 0
  let maximumByteCount: Int
  /// The length that the response declares; `nil` when it declares none. A hint.
  var declaredByteCount: Int?
  private var mayUseFile = true

  /// A body of so many bytes stays in memory, as nearly all do.
  static let maximumMemoryByteCount = 4 << 20
  /// The least that the buffer grows by.
  private static let minimumGrowthByteCount = 64 << 10

  init(maximumByteCount: Int) {
    self.maximumByteCount = maximumByteCount
  }

  /// Continues a partial body, which was accounted for.
  init(_ partial: BodyContent, maximumByteCount: Int) {
    self.init(maximumByteCount: maximumByteCount)
    switch partial {
    case .memory(let bytes): self.bytes = bytes
    case .file(let file, let byteCount):
      spool = SpoolWriter(to: file, byteCount: byteCount)
    }
    capacity = partial.byteCount
  }

  var byteCount: Int { spool?.byteCount ?? bytes.count }

  /// All bytes are in it after ``flush()``.
  var content: BodyContent {
    spool.map { .file($0.file, byteCount: $0.byteCount) } ?? .memory(bytes)
  }

  /// What can be read of it before ``flush()``.
  var readableContent: BodyContent {
    spool.map { .file($0.file, byteCount: $0.writtenByteCount) } ?? .memory(bytes)
  }

  var charge: BodyCharge { BodyCharge(byteCount: capacity, isOfFile: spool != nil) }

  func hasRoom(for byteCount: Int) -> Bool {
    byteCount <= maximumByteCount - self.byteCount
  }

  /// The capacity to grow to when `byteCount` more bytes do not fit the present one.
  ///
  /// What has arrived counts, and not what is declared: many origins that declare much and send little would
  /// hold all the room. A buffer at most doubles, up to a declared length. One of unknown length grows by
  /// eighths: the old and the new memory exist side by side, so doubling would take three times the bytes.
  func capacity(toFit byteCount: Int) -> Int {
    let needed = self.byteCount + byteCount
    guard needed > capacity else { return capacity }
    let isDeclared = (declaredByteCount ?? 0) >= needed
    let growth = max(isDeclared ? self.byteCount : self.byteCount / 8, Self.minimumGrowthByteCount)
    let wanted = max(needed, self.byteCount + growth)
    let maximum = isDeclared ? declaredByteCount ?? maximumByteCount : maximumByteCount
    return min(wanted, maximum, maximumByteCount)
  }

  /// - Parameter capacity: from ``capacity(toFit:)``.
  mutating func grow(to capacity: Int) {
    guard capacity > self.capacity else { return }
    if spool == nil { bytes.reserveCapacity(capacity) }
    self.capacity = capacity
  }

  /// Adds bytes that fit the limit and the capacity.
  ///
  /// - Throws: when they cannot be written to the file.
  mutating func append(_ chunk: Span<UInt8>) throws(SystemError) {
    precondition(chunk.count <= capacity - byteCount, "a body outgrew its buffer")
    if spool != nil {
      try spool?.append(chunk)
    } else {
      unsafe chunk.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    }
  }

  // MARK: - The file

  /// Whether it is in memory, and files can be made.
  var mayMoveToFile: Bool { spool == nil && mayUseFile }

  /// Whether the body, with so many bytes more, belongs in a file.
  func isDueForFile(adding byteCount: Int) -> Bool {
    guard mayMoveToFile else { return false }
    return max(bytes.count + byteCount, declaredByteCount ?? 0) > Self.maximumMemoryByteCount
  }

  /// Moves the bytes that are in memory into a file, where later bytes go, too.
  ///
  /// - Parameters:
  ///   - file: an empty one.
  ///   - capacity: from ``capacity(toFit:)``.
  /// - Throws: when the bytes cannot be written.
  mutating func move(to file: SpoolFile, capacity: Int) throws(SystemError) {
    var spool = SpoolWriter(to: file)
    try spool.append(bytes.span)
    self.spool = spool
    self.capacity = capacity
    bytes = []
  }

  /// Writes to the file, if there is one, what is not in it yet.
  ///
  /// - Throws: when the bytes cannot be written.
  mutating func flush() throws(SystemError) {
    try spool?.flush()
  }

  /// No file can be made: the body stays in memory, however long it becomes.
  mutating func stayInMemory() {
    mayUseFile = false
  }
}
