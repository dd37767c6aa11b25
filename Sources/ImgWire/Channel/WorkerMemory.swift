package import ImgModel
package import ImgSystem

/// The memory from which a decoder takes a picture. Its worker alone can write it, so a picture that
/// has taken over a decoder cannot change what a second decoder or the worker sees.
package struct PictureMemory: Sendable {
  private let memory: SharedMemory

  /// The worker's side: room for a picture, which takes up memory once it is written. There is less
  /// room where this process may not make so large a file.
  package init(maximumByteCount: Int) throws(SystemError) {
    let room = min(maximumByteCount, ThisProcess.maximumFileByteCount)
    memory = try SharedMemory(byteCount: max(room, 1), writers: .creator)
  }

  /// The decoder's side: the memory that its worker passed on.
  package init(mapping file: PassedFile) throws(SystemError) {
    memory = try SharedMemory(mapping: file, isWritable: false)
  }

  /// The open file, for the decoder.
  package var file: PassedFile { memory.file }

  package var maximumByteCount: Int { memory.byteCount }

  // MARK: - The worker's side

  /// - Precondition: there is room.
  package func put(_ picture: borrowing Span<UInt8>) {
    memory.write(picture, at: 0)
  }

  /// Writes a part of a picture.
  ///
  /// - Parameter offset: its place in the picture.
  /// - Precondition: there is room.
  package func put(part: borrowing Span<UInt8>, at offset: Int) {
    memory.write(part: part, at: offset)
  }

  /// Reads the picture from an open file.
  ///
  /// - Returns: the size of the picture, at most `maximumByteCount`.
  package func put(
    contentsOf descriptor: CInt, upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    try memory.read(from: descriptor, upTo: maximumByteCount)
  }

  /// Makes the first bytes zeros.
  package func clear(byteCount: Int) {
    memory.clear(in: 0..<byteCount)
  }

  // MARK: - The decoder's side

  /// Calls `body` with the picture in place.
  ///
  /// - Precondition: `byteCount` is at most ``maximumByteCount``.
  package func withPicture<Result, Reason: Error>(
    byteCount: Int, _ body: (Span<UInt8>) throws(Reason) -> Result
  ) throws(Reason) -> Result {
    try memory.withBytes(in: 0..<byteCount, body)
  }
}

/// The memory in which a decoder leaves a thumbnail, behind a page that shows what it does. The worker
/// can read that page when the decoder hangs or has died.
///
/// The worker trusts none of it: the picture may control the decoder.
package struct ThumbnailMemory: Sendable {
  /// What the decoder does with its picture.
  package enum Stage: UInt64, Sendable {
    case header = 1
    case pixels
  }

  private enum Word: Int {
    /// A ``Stage``.
    case stage
    /// Bytes of the last allocation that was refused since the picture's decode began; 0 for none.
    case refusedAllocation
  }

  /// The thumbnail begins on a page of its own, whose memory can be given back.
  private static let thumbnailOffset = ThisProcess.pageByteCount

  private let memory: SharedMemory

  /// The worker's side: room for a thumbnail, which takes up memory once it is written. There is less
  /// room where this process may not make so large a file.
  package init(maximumByteCount: Int) throws(SystemError) {
    let room = min(maximumByteCount, ThisProcess.maximumFileByteCount - Self.thumbnailOffset)
    memory = try SharedMemory(
      byteCount: Self.thumbnailOffset + max(room, 1), writers: .everyProcess)
  }

  /// The decoder's side: the memory that its worker passed on.
  package init(mapping file: PassedFile) throws(SystemError) {
    memory = try SharedMemory(mapping: file, isWritable: true)
  }

  /// The open file, for the decoder.
  package var file: PassedFile { memory.file }

  package var maximumByteCount: Int { memory.byteCount - Self.thumbnailOffset }

  // MARK: - Both sides

  /// A new picture begins with its header.
  package func beginPicture() {
    memory.setWord(Word.refusedAllocation.rawValue, to: 0)
    memory.setWord(Word.stage.rawValue, to: Stage.header.rawValue)
  }

  /// Whether an allocation that a picture may need was refused since the picture began.
  package func hasRefusedAllocation(within limits: Limits) -> Bool {
    hasRefusedAllocation && refusedByteCount <= limits.largestAllocationByteCount
  }

  /// Whether an allocation of any size was refused since the picture began.
  package var hasRefusedAllocation: Bool { refusedByteCount != 0 }

  private var refusedByteCount: UInt64 { memory.word(Word.refusedAllocation.rawValue) }

  // MARK: - The decoder's side

  /// Has allocations that are refused recorded here. The memory must live as long as the process.
  ///
  /// - Parameter record: is given the address of a 64-bit word.
  package func recordRefusedAllocations(by record: (UInt) -> Void) {
    record(memory.address(ofWord: Word.refusedAllocation.rawValue))
  }

  package func beginPixels() {
    memory.setWord(Word.stage.rawValue, to: Stage.pixels.rawValue)
  }

  /// - Parameter offset: the bytes of the thumbnails before it.
  /// - Precondition: there is room.
  package func put(_ thumbnail: borrowing Span<UInt8>, at offset: Int = 0) {
    memory.write(thumbnail, at: Self.thumbnailOffset + offset)
  }

  // MARK: - The worker's side

  package var isInHeader: Bool { memory.word(Word.stage.rawValue) == Stage.header.rawValue }

  /// A copy of a thumbnail; `nil` if it cannot have that size.
  ///
  /// - Parameter offset: the bytes of the thumbnails before it.
  package func thumbnail(byteCount: Int, at offset: Int = 0) -> [UInt8]? {
    guard byteCount > 0, byteCount <= maximumByteCount - offset else { return nil }
    let start = Self.thumbnailOffset + offset
    return memory.bytes(in: start..<(start + byteCount))
  }

  /// Gives the memory of a thumbnail back to the machine.
  package func releaseThumbnail() throws(SystemError) {
    try memory.release(from: Self.thumbnailOffset)
  }
}

/// A page of memory that a worker and its coordinator share: what the worker does at this moment. The
/// coordinator can read it when the worker hangs, is stopped or has died. A message would wait in a
/// buffer of the process that hangs.
package struct WorkerHeartbeat: Sendable {
  private enum Word: Int, CaseIterable {
    /// When the loop last ran, in nanoseconds of the monotonic clock.
    case heartbeat
    /// The lease whose local file, or original in the store, is being read; 0 for none.
    case readingLease
    /// When that read began, in nanoseconds of the monotonic clock.
    case readingSince
    /// The lease of the transfer that the loop works on; 0 for none.
    case transferringLease
    /// 1 when a thread has crashed in a call of the store; 0 before.
    case storeCrash
  }

  private let words: SharedWords

  /// A new page, on which the loop has just run.
  package init() throws(SystemError) {
    words = try SharedWords(count: Word.allCases.count)
    beat()
  }

  /// The page that the coordinator passed on.
  package init(adopting descriptor: consuming OwnedDescriptor) throws(SystemError) {
    words = try SharedWords(adopting: descriptor, count: Word.allCases.count)
  }

  package var descriptor: CInt { words.descriptor }

  // MARK: - The worker's side

  /// The loop runs.
  package func beat() {
    words.store(MonotonicClock.nanoseconds(), at: Word.heartbeat.rawValue)
  }

  /// Records a crash in a call of the store here. The page lives as long as the process.
  package func recordStoreCrashes() {
    CrashRegion.record(in: words, at: Word.storeCrash.rawValue)
  }

  /// Marks the lease whose picture is being read while `body` runs. A read of a file may hang for
  /// ever, for example on a network file system whose server is gone.
  package func withReading<Result, Reason: Error>(
    of lease: LeaseID, _ body: () throws(Reason) -> Result
  ) throws(Reason) -> Result {
    words.store(MonotonicClock.nanoseconds(), at: Word.readingSince.rawValue)
    words.store(lease.rawValue, at: Word.readingLease.rawValue)
    defer { words.store(0, at: Word.readingLease.rawValue) }
    return try body()
  }

  /// Marks the transfer that the loop works on, named by the lease that began it; `nil` for
  /// none.
  package func markTransfer(_ lease: LeaseID?) {
    words.store(lease?.rawValue ?? 0, at: Word.transferringLease.rawValue)
  }

  // MARK: - The coordinator's side

  /// How long ago the worker's loop last ran.
  package var age: Duration {
    age(of: .heartbeat)
  }

  /// The lease whose picture is being read, and for how long.
  package var reading: (lease: LeaseID, time: Duration)? {
    let lease = words.load(Word.readingLease.rawValue)
    guard lease != 0 else { return nil }
    return (LeaseID(rawValue: lease), age(of: .readingSince))
  }

  /// The lease of the transfer that the loop works on, or worked on when the process died.
  package var transferringLease: LeaseID? {
    let lease = words.load(Word.transferringLease.rawValue)
    return lease == 0 ? nil : LeaseID(rawValue: lease)
  }

  /// Whether the thread that crashed was in a call of the store.
  package var hasCrashedInStore: Bool { words.load(Word.storeCrash.rawValue) != 0 }

  private func age(of word: Word) -> Duration {
    let then = words.load(word.rawValue)
    let now = MonotonicClock.nanoseconds()
    return .nanoseconds(now > then ? now - then : 0)
  }
}
