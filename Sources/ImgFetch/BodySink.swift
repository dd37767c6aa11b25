package import ImgModel
package import ImgSystem

/// Takes the bytes of one transfer's body: examines the first ones, and stores all of them in a
/// buffer for which the pool's budgets have room.
struct BodySink {
  /// What becomes of a chunk.
  enum Reception {
    case taken
    /// There is no room for it now. libcurl hands it over again when the transfer is resumed.
    case wait
    /// The transfer is to end.
    case stop(StopReason)
  }

  private let id: TransferID
  private let content: TransferContent
  private let budgets: BodyBudgets
  private let spoolDirectories: SpoolDirectories
  private let earlyReject: EarlyReject?
  private var buffer: BodyBuffer
  private var isExamined = false
  /// Bytes of bodies that libcurl delivered, stored or not, before they were decoded.
  private(set) var receivedByteCount = 0

  /// - Parameter start: what the URL is asked with. The budgets have room for its partial body.
  init(
    _ id: TransferID, for content: TransferContent, from start: TransferStart,
    in context: TransferContext
  ) {
    self.id = id
    self.content = content
    budgets = context.budgets
    spoolDirectories = context.spoolDirectories
    earlyReject = context.earlyReject
    let maximumByteCount = content.maximumByteCount(context.limits)
    if case .partial(let partial) = start {
      buffer = BodyBuffer(partial.content, maximumByteCount: maximumByteCount)
    } else {
      buffer = BodyBuffer(maximumByteCount: maximumByteCount)
    }
  }

  var byteCount: Int { buffer.byteCount }
  var maximumByteCount: Int { buffer.maximumByteCount }
  /// The length of the whole body, if it is known.
  var declaredByteCount: Int? { buffer.declaredByteCount }

  /// All bytes are in it after ``flush()``.
  var bytes: BodyContent { buffer.content }

  /// What can be read of them before ``flush()``.
  var readableBytes: BodyContent { buffer.readableContent }

  /// What the bytes count against the budgets. A text is short and takes nothing.
  var charge: BodyCharge { content.isWhole ? buffer.charge : BodyCharge(byteCount: 0) }

  /// Stores a chunk of the decoded body.
  ///
  /// - Parameters:
  ///   - completeByteCount: the length of the whole body, if it is known.
  ///   - head: of the response.
  mutating func take(
    _ chunk: Span<UInt8>, completeByteCount: Int?, of head: ResponseHead
  ) -> Reception {
    guard buffer.hasRoom(for: chunk.count) else {
      return .stop(.bodyTooLong)
    }
    buffer.declaredByteCount = completeByteCount
    do throws(SystemError) {
      guard try makeRoom(for: chunk.count) else { return .wait }
      try buffer.append(chunk)
    } catch {
      return .stop(.spoolFailed(error))
    }
    return examine(head).map { .stop(.rejected($0)) } ?? .taken
  }

  /// Counts what libcurl delivered, once it need not deliver it again.
  mutating func countReceived(byteCount: Int) {
    receivedByteCount += byteCount
  }

  /// Drops the partial body that it began with, in memory or in its file.
  mutating func dropPartialBody() {
    budgets.end(id, isHandedOut: false)
    budgets.begin(id)
    buffer = BodyBuffer(maximumByteCount: buffer.maximumByteCount)
  }

  /// The body continues one whose first bytes were examined when they came in.
  mutating func skipExamination() {
    isExamined = true
  }

  /// Writes to the file, if there is one, what is not in it yet.
  mutating func flush() throws(SystemError) {
    try buffer.flush()
  }

  /// Has the buffer grow by so many bytes, in a file once it is too long for memory, or memory has no room
  /// (see ``BodyBudgets``). The first bytes of a long body are examined before, so that no file is made for a
  /// rejected one.
  ///
  /// - Returns: whether there is room for them.
  private mutating func makeRoom(for byteCount: Int) throws(SystemError) -> Bool {
    let capacity = buffer.capacity(toFit: byteCount)
    guard content.isWhole else {
      buffer.grow(to: capacity)
      return true
    }
    if buffer.byteCount >= earlyReject?.byteCount ?? 0, buffer.isDueForFile(adding: byteCount),
      let isMoved = try moveToFile(capacity: capacity)
    {
      return isMoved
    }
    guard capacity > buffer.capacity else { return true }
    let charge = BodyCharge(byteCount: capacity, isOfFile: buffer.charge.isOfFile)
    guard budgets.grow(id, to: charge) else {
      guard buffer.mayMoveToFile, budgets.prefersFiles else { return false }
      return try moveToFile(capacity: capacity) ?? false
    }
    buffer.grow(to: capacity)
    return true
  }

  /// - Returns: whether there is room in files; `nil` where no file can be made.
  private mutating func moveToFile(capacity: Int) throws(SystemError) -> Bool? {
    guard budgets.grow(id, to: BodyCharge(byteCount: capacity, isOfFile: true)) else {
      return false
    }
    guard let file = spoolDirectories.makeFile() else {
      buffer.stayInMemory()
      budgets.leaveFiles(id)
      return nil
    }
    try buffer.move(to: file, capacity: capacity)
    budgets.leaveMemory(id)
    return true
  }

  /// Examines the body once, when enough bytes are in. A response without success is no picture,
  /// whatever its body looks like.
  private mutating func examine(_ head: ResponseHead) -> Failure? {
    guard content.isWhole, let earlyReject, !isExamined, head.isSuccess,
      buffer.byteCount >= earlyReject.byteCount
    else { return nil }
    isExamined = true
    let failure = earlyReject.failure(of: buffer.bytes)
    return failure.flatMap { content.isEnded(by: $0) ? $0 : nil }
  }
}

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
  /// A declared length up to this is taken at once: most pictures are no longer, and growing would copy them.
  private static let smallByteCount = 256 << 10

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
  /// What has arrived counts, and not what is declared, unless that is little: many origins that declare much
  /// and send little would hold all the room. A buffer at most doubles, up to a declared length. One of unknown length grows by
  /// eighths: the old and the new memory exist side by side, so doubling would take three times the bytes.
  func capacity(toFit byteCount: Int) -> Int {
    let needed = self.byteCount + byteCount
    guard needed > capacity else { return capacity }
    guard let declared = declaredByteCount, declared >= needed else {
      let growth = max(self.byteCount / 8, Self.minimumGrowthByteCount)
      return min(max(needed, self.byteCount + growth), maximumByteCount)
    }
    guard declared > Self.smallByteCount else { return min(declared, maximumByteCount) }
    let growth = max(self.byteCount, Self.minimumGrowthByteCount)
    return min(max(needed, self.byteCount + growth), declared, maximumByteCount)
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

/// The bytes of a body: in memory or, where they are many, in a file without a name.
package enum BodyContent: Sendable {
  case memory([UInt8])
  case file(SpoolFile, byteCount: Int)

  package var byteCount: Int {
    switch self {
    case .memory(let bytes): bytes.count
    case .file(_, let byteCount): byteCount
    }
  }

  var charge: BodyCharge {
    switch self {
    case .memory(let bytes): BodyCharge(byteCount: bytes.count)
    case .file(_, let byteCount): BodyCharge(byteCount: byteCount, isOfFile: true)
    }
  }

  /// All of them, in memory; those of a file are read.
  package func bytes() throws(SystemError) -> [UInt8] {
    switch self {
    case .memory(let bytes): bytes
    case .file(let file, let byteCount): try file.contents(byteCount: byteCount)
    }
  }
}

/// Rejects a body by its first bytes, before the rest is fetched.
///
/// A body that ends earlier is not examined: it is in already, and its decoder examines it anyway.
package struct EarlyReject {
  /// How many bytes are examined.
  let byteCount: Int
  private let examine: ([UInt8]) -> Failure?

  /// - Parameter examine: gets the first `byteCount` bytes, and returns the failure of the URL;
  ///   `nil` lets the whole body come in.
  package init(byteCount: Int, examine: @escaping ([UInt8]) -> Failure?) {
    self.byteCount = byteCount
    self.examine = examine
  }

  /// - Parameter body: at least ``byteCount`` bytes.
  func failure(of body: [UInt8]) -> Failure? { examine(Array(body.prefix(byteCount))) }
}

/// Where files for long bodies are made: in the first directory that takes one.
struct SpoolDirectories {
  private let paths: [String]

  init(_ paths: [String]) {
    self.paths = paths
  }

  /// A new, empty file; `nil` where none can be made.
  func makeFile() -> SpoolFile? {
    for path in paths {
      if let file = try? SpoolFile(in: path) { return file }
    }
    return nil
  }

  /// A copy of bytes: in a file when they are too many for memory.
  func content(copying bytes: Span<UInt8>) -> BodyContent {
    if bytes.count > BodyBuffer.maximumMemoryByteCount, let file = makeFile(),
      (try? file.append(bytes)) != nil
    {
      return .file(file, byteCount: bytes.count)
    }
    return .memory(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
  }
}

/// Writes a body to its file in blocks. An origin chooses how few bytes come in at once, and each
/// write is a system call.
///
/// A block is as long as the read buffer that libcurl has for each transfer.
struct SpoolWriter {
  let file: SpoolFile
  /// Of the whole body; the last bytes are in the file only after ``flush()``.
  private(set) var byteCount: Int
  private var block: [UInt8] = []

  static let blockByteCount = EasyHandle.readBufferByteCount

  /// Bytes that are in the file.
  var writtenByteCount: Int { byteCount - block.count }

  /// - Parameter byteCount: of the file, to which more is added.
  init(to file: SpoolFile, byteCount: Int = 0) {
    self.file = file
    self.byteCount = byteCount
  }

  /// - Throws: when a block cannot be written.
  mutating func append(_ bytes: borrowing Span<UInt8>) throws(SystemError) {
    byteCount += bytes.count
    if bytes.count > Self.blockByteCount - block.count { try flush() }
    if bytes.count >= Self.blockByteCount {
      try file.append(bytes)
    } else {
      block.reserveCapacity(Self.blockByteCount)
      unsafe bytes.withUnsafeBufferPointer { unsafe block.append(contentsOf: $0) }
    }
  }

  /// Writes what is left, and frees the block.
  mutating func flush() throws(SystemError) {
    guard !block.isEmpty else { return }
    try file.append(block.span)
    block = []
  }
}
