import ImgSystem

extension Environment {
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
