import Glibc

/// Something that changes what a file holds, or what a power cut leaves of it.
enum WriteEvent {
  /// Bytes at an offset.
  ///
  /// - Parameter isDurable: the call waited for the disk to have them (`O_DSYNC`).
  case write(file: ino_t, offset: Int, bytes: [UInt8], isDurable: Bool)
  /// The file became so long, if it was shorter.
  case extend(file: ino_t, byteCount: Int)
  /// The disk has everything written until now.
  case synced(file: ino_t)
  /// A transaction that wrote was committed.
  case committed

  /// Whether it happened to this file, or is a commit.
  func isOf(_ file: ino_t) -> Bool {
    switch self {
    case .write(let written, _, _, _): written == file
    case .extend(let extended, _): extended == file
    case .synced(let synced): synced == file
    case .committed: true
    }
  }

  var isWrite: Bool { if case .write = self { true } else { false } }

  var isSynced: Bool { if case .synced = self { true } else { false } }

  var isCommitted: Bool { if case .committed = self { true } else { false } }
}

/// The file behind a descriptor.
func fileNumber(of descriptor: CInt) -> ino_t {
  var status = stat()
  return unsafe fstat(descriptor, &status) == 0 ? status.st_ino : 0
}
