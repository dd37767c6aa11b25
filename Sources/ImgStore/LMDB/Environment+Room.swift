import ImgSystem

extension Environment {
  /// Reserves room on the disk for what is written behind the last page, so that other files cannot
  /// take it. The length of the file stays; what is written there later uses the room.
  ///
  /// Costs a system call when less than half of it is left.
  ///
  /// - Parameter nextByteCount: what the next write takes beside it.
  /// - Precondition: this thread is the only one that writes.
  /// - Throws: ``StoreError/Reason/full`` when the disk and the free pages have less than half of that
  ///   room beside what the next write takes. A file system that cannot reserve room is no error.
  func reserveRoom(byteCount: Int, beside nextByteCount: Int) throws(StoreError) {
    let used = try whileMapStays { () throws(StoreError) in try pageByteCountInAll() }
    let least = byteCount / 2 + nextByteCount
    guard reservedEnd - used < least else { return }
    let descriptor = try descriptor()
    let end = used + byteCount + nextByteCount
    do throws(SystemError) {
      try FileIO.reserve(used..<end, of: descriptor)
      reservedEnd = end
    } catch {
      let failure = StoreError(error).at(directory, content: content)
      guard failure.code == .noSpace || failure.code == .quotaExceeded else { return }
      guard try max(0, reservedEnd - used) + freeByteCount >= least else { throw failure }
    }
  }

  /// What the pages take that are free for reuse.
  var freeByteCount: Int {
    get throws(StoreError) {
      try read { transaction throws(StoreError) in
        try transaction.freePageCount() * pageByteCount
      }
    }
  }

  /// The file system that has the data file; `nil` when it does not say.
  var diskSpace: DiskSpace? {
    (try? descriptor()).flatMap { try? DiskSpace(of: $0) }
  }

  /// By how much the file grows at once.
  private static let stepByteCount = 256 << 10
  /// What a small commit takes at most.
  private static let smallByteCount = 64 << 10

  /// Where small commits make the file longer, has it end behind its last page, in zeros, so that
  /// most of them write where it has bytes already. When a file becomes longer, its file system has
  /// a commit of its own to make before the data counts as written: on ext4, a quarter of what the
  /// commit of one thumbnail waits for. A large commit has more to wait for, and its zeros would
  /// cost more than they save.
  ///
  /// What there is no room for, the commit says that needs it.
  ///
  /// - Precondition: a transaction of this thread writes: nobody else lengthens the file.
  func takeRoomAhead() {
    guard let used = try? pageByteCountInAll() else { return }
    let growth = used - usedByteCount
    usedByteCount = used
    guard growth > 0, growth <= Self.smallByteCount, let byteCount = try? fileByteCount(),
      // A file that lacks pages stays as it is, for whoever finds out which they are.
      (0..<Self.smallByteCount).contains(byteCount - used),
      let most = try? mapByteCount, byteCount + Self.stepByteCount <= most,
      let descriptor = try? descriptor()
    else { return }
    let zeros = [UInt8](repeating: 0, count: Self.stepByteCount)
    do throws(SystemError) {
      try FileIO.writeAll(descriptor, zeros.span, at: byteCount)
    } catch {
      // The last room of a disk is for what has to be written.
      try? FileIO.setByteCount(of: descriptor, to: byteCount)
    }
  }
}
