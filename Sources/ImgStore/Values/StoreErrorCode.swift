import CLMDB
import Glibc

extension StoreError {
  /// A return code of LMDB: one of its own, which are negative, or an `errno`.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: CInt

    package init(rawValue: CInt) {
      self.rawValue = rawValue
    }
  }
}

extension StoreError.Code {
  static let keyExists = Self(rawValue: MDB_KEYEXIST)
  static let notFound = Self(rawValue: MDB_NOTFOUND)
  static let pageNotFound = Self(rawValue: MDB_PAGE_NOTFOUND)
  static let corrupted = Self(rawValue: MDB_CORRUPTED)
  /// A tree that is too deep for the map, so its pages form a cycle.
  static let cursorFull = Self(rawValue: MDB_CURSOR_FULL)
  /// A page whose entries exceed the size in its header.
  static let pageFull = Self(rawValue: MDB_PAGE_FULL)
  /// The flags of a table differ from those of the opening.
  static let incompatible = Self(rawValue: MDB_INCOMPATIBLE)
  static let panic = Self(rawValue: MDB_PANIC)
  static let versionMismatch = Self(rawValue: MDB_VERSION_MISMATCH)
  static let invalid = Self(rawValue: MDB_INVALID)
  /// An older release has written the records with a layout that this one does not read.
  static let outdated = Self(rawValue: ENOTSUP)
  static let mapFull = Self(rawValue: MDB_MAP_FULL)
  static let readersFull = Self(rawValue: MDB_READERS_FULL)
  static let mapResized = Self(rawValue: MDB_MAP_RESIZED)
  static let badValueSize = Self(rawValue: MDB_BAD_VALSIZE)

  static let noSuchFile = Self(rawValue: ENOENT)
  static let noSpace = Self(rawValue: ENOSPC)
  static let quotaExceeded = Self(rawValue: EDQUOT)
  /// The file exceeds RLIMIT_FSIZE or the maximum of the file system.
  static let fileTooLarge = Self(rawValue: EFBIG)
  /// LMDB's code for a short write (`mdb_page_flush` in its source: "short write, filesystem
  /// full?"), and also for a broken disk.
  static let inputOutput = Self(rawValue: EIO)
  static let readOnlyFileSystem = Self(rawValue: EROFS)
  static let accessDenied = Self(rawValue: EACCES)
  static let notPermitted = Self(rawValue: EPERM)
  static let busy = Self(rawValue: EBUSY)
  /// The open files are no longer those in the directory.
  static let replaced = Self(rawValue: ESTALE)
  /// The data file ends before its last page.
  static let truncated = Self(rawValue: ENODATA)
  /// A value that cannot be encoded.
  static let notEncodable = Self(rawValue: EINVAL)
  static let outOfMemory = Self(rawValue: ENOMEM)
  /// A thumbnail that exceeds the budget.
  static let largerThanBudget = Self(rawValue: EMSGSIZE)
  /// Pinned thumbnails use up the budget.
  static let pinned = Self(rawValue: ENOBUFS)

  /// The code as C spells it, such as `MDB_MAP_FULL` or `ENOSPC`.
  package var name: String {
    Self.names[rawValue] ?? "errno \(rawValue)"
  }

  /// The names of the codes that can occur. Swift cannot call glibc's function for names.
  private static let names: [CInt: String] = [
    MDB_KEYEXIST: "MDB_KEYEXIST",
    MDB_NOTFOUND: "MDB_NOTFOUND",
    MDB_PAGE_NOTFOUND: "MDB_PAGE_NOTFOUND",
    MDB_CORRUPTED: "MDB_CORRUPTED",
    MDB_PANIC: "MDB_PANIC",
    MDB_VERSION_MISMATCH: "MDB_VERSION_MISMATCH",
    MDB_INVALID: "MDB_INVALID",
    MDB_MAP_FULL: "MDB_MAP_FULL",
    MDB_DBS_FULL: "MDB_DBS_FULL",
    MDB_READERS_FULL: "MDB_READERS_FULL",
    MDB_TXN_FULL: "MDB_TXN_FULL",
    MDB_CURSOR_FULL: "MDB_CURSOR_FULL",
    MDB_PAGE_FULL: "MDB_PAGE_FULL",
    MDB_MAP_RESIZED: "MDB_MAP_RESIZED",
    MDB_INCOMPATIBLE: "MDB_INCOMPATIBLE",
    MDB_BAD_RSLOT: "MDB_BAD_RSLOT",
    MDB_BAD_TXN: "MDB_BAD_TXN",
    MDB_BAD_VALSIZE: "MDB_BAD_VALSIZE",
    MDB_BAD_DBI: "MDB_BAD_DBI",
    EACCES: "EACCES",
    EAGAIN: "EAGAIN",
    EBUSY: "EBUSY",
    EDQUOT: "EDQUOT",
    EFBIG: "EFBIG",
    EINVAL: "EINVAL",
    EIO: "EIO",
    EMFILE: "EMFILE",
    EMSGSIZE: "EMSGSIZE",
    ENOBUFS: "ENOBUFS",
    ENODATA: "ENODATA",
    ENOENT: "ENOENT",
    ENOMEM: "ENOMEM",
    ENOSPC: "ENOSPC",
    ENOTDIR: "ENOTDIR",
    ENOTSUP: "ENOTSUP",
    EPERM: "EPERM",
    EROFS: "EROFS",
    ESTALE: "ESTALE",
  ]

  /// The message of LMDB or the C library for the code.
  var explanation: String {
    guard let text = unsafe mdb_strerror(rawValue) else { return "no explanation" }
    return unsafe String(cString: text)
  }
}
