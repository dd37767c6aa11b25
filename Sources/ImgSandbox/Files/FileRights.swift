import CLinux

/// Rights on files and directories, as Landlock distinguishes them (landlock(7)).
package struct FileRights: OptionSet, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  private init(_ bits: Int...) {
    rawValue = UInt64(bits.reduce(0, |))
  }

  static let readFiles = FileRights(IMG_LANDLOCK_READ_FILE)
  static let readDirectories = FileRights(IMG_LANDLOCK_READ_DIR)
  static let execute = FileRights(IMG_LANDLOCK_EXECUTE)
  static let writeFiles = FileRights(IMG_LANDLOCK_WRITE_FILE, IMG_LANDLOCK_TRUNCATE)
  static let createAndRemove = FileRights(
    IMG_LANDLOCK_MAKE_REG, IMG_LANDLOCK_MAKE_DIR, IMG_LANDLOCK_REMOVE_FILE,
    IMG_LANDLOCK_REMOVE_DIR, IMG_LANDLOCK_REFER)
  static let removeFiles = FileRights(IMG_LANDLOCK_REMOVE_FILE)
  static let createSpecialFiles = FileRights(
    IMG_LANDLOCK_MAKE_CHAR, IMG_LANDLOCK_MAKE_BLOCK, IMG_LANDLOCK_MAKE_FIFO,
    IMG_LANDLOCK_MAKE_SOCK, IMG_LANDLOCK_MAKE_SYM)
  static let controlDevices = FileRights(IMG_LANDLOCK_IOCTL_DEV)

  static let read: FileRights = [.readFiles, .readDirectories]
  static let readAndWrite: FileRights = [.read, .writeFiles, .createAndRemove]
  /// Writing files that have a name already, or none.
  static let readAndWriteFiles: FileRights = [.readFiles, .writeFiles]
  static let all: FileRights = [
    .readAndWrite, .execute, .createSpecialFiles, .controlDevices,
  ]

  /// Those that a rule on a file that is not a directory may have.
  static let ofFiles: FileRights = [.readFiles, .writeFiles, .execute, .controlDevices]

  /// Those that a version of Landlock knows. It cannot refuse the others.
  func known(to version: Int) -> FileRights {
    var unknown = 0
    if version < 2 { unknown |= IMG_LANDLOCK_REFER }
    if version < 3 { unknown |= IMG_LANDLOCK_TRUNCATE }
    if version < 5 { unknown |= IMG_LANDLOCK_IOCTL_DEV }
    return subtracting(FileRights(unknown))
  }
}
