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
  /// A tree deeper than any that fits the map: its pages lead in a circle.
  static let cursorFull = Self(rawValue: MDB_CURSOR_FULL)
  /// A page whose header says that it has less room than its entries take.
  static let pageFull = Self(rawValue: MDB_PAGE_FULL)
  /// The flags of a table are others than those with which it is opened.
  static let incompatible = Self(rawValue: MDB_INCOMPATIBLE)
  static let panic = Self(rawValue: MDB_PANIC)
  static let versionMismatch = Self(rawValue: MDB_VERSION_MISMATCH)
  static let invalid = Self(rawValue: MDB_INVALID)
  /// An older release has written the records, in a layout that this one does not read.
  static let outdated = Self(rawValue: ENOTSUP)
  static let mapFull = Self(rawValue: MDB_MAP_FULL)
  static let readersFull = Self(rawValue: MDB_READERS_FULL)
  static let mapResized = Self(rawValue: MDB_MAP_RESIZED)
  static let badValueSize = Self(rawValue: MDB_BAD_VALSIZE)

  static let noSuchFile = Self(rawValue: ENOENT)
  static let noSpace = Self(rawValue: ENOSPC)
  static let quotaExceeded = Self(rawValue: EDQUOT)
  /// Beyond RLIMIT_FSIZE, or what the file system allows a file.
  static let fileTooLarge = Self(rawValue: EFBIG)
  /// What LMDB says when the file system took only a part of a write (`mdb_page_flush` in its
  /// source asks itself: "short write, filesystem full?"), as well as of a broken disk.
  static let inputOutput = Self(rawValue: EIO)
  static let readOnlyFileSystem = Self(rawValue: EROFS)
  static let accessDenied = Self(rawValue: EACCES)
  static let notPermitted = Self(rawValue: EPERM)
  static let busy = Self(rawValue: EBUSY)
  /// The files that are open are no longer those in the directory.
  static let replaced = Self(rawValue: ESTALE)
  /// The data file ends before its last page.
  static let cutOff = Self(rawValue: ENODATA)
  /// A value that has no form in the store.
  static let notEncodable = Self(rawValue: EINVAL)
  static let outOfMemory = Self(rawValue: ENOMEM)
  /// A thumbnail that no store of the budget could hold.
  static let largerThanBudget = Self(rawValue: EMSGSIZE)

  /// The code as C spells it, such as `MDB_MAP_FULL` or `ENOSPC`.
  package var name: String {
    Self.names[rawValue] ?? "errno \(rawValue)"
  }

  /// The codes that a store can meet; glibc has no function for the names that Swift can see.
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

  /// What LMDB or the C library says about the code.
  var explanation: String {
    guard let text = unsafe mdb_strerror(rawValue) else { return "no explanation" }
    return unsafe String(cString: text)
  }
}
