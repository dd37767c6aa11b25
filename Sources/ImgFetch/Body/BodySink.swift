internal import ImgModel
internal import ImgSystem

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

  private let id: UInt64
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
    _ id: UInt64, for content: TransferContent, from start: TransferStart,
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
  var charge: BodyCharge { content.isPicture ? buffer.charge : BodyCharge(byteCount: 0) }

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
    guard content.isPicture else {
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
    guard content.isPicture, let earlyReject, !isExamined, head.isSuccess,
      buffer.byteCount >= earlyReject.byteCount
    else { return nil }
    isExamined = true
    let failure = earlyReject.failure(of: buffer.bytes)
    return failure.flatMap { content.isEnded(by: $0) ? $0 : nil }
  }
}
