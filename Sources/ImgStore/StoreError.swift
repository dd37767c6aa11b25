import CLMDB
import Glibc
import ImgModel
import ImgSystem

/// An error of the store or the journal.
///
/// The code has its C name, for `lmdb.h` or `errno(3)`. Callers branch on the ``reason``. The
/// description is a sentence for people.
package struct StoreError: Error, Hashable, Sendable {
  /// The kinds of errors that callers distinguish.
  package enum Reason: Hashable, Sendable {
    /// There is no store in the directory yet.
    case absent
    /// The map, the disk, the quota or the maximum file size is exhausted.
    case full
    /// Pinned thumbnails use up the budget.
    case pinned
    /// The thumbnail is larger than the budget. Others may fit.
    case tooLarge
    /// The directory or its file system does not permit the operation.
    case notPermitted
    /// A newer release has written the directory.
    case newerVersion
    /// An older release has written the directory with a layout that this one does not read.
    case olderVersion
    /// All reader slots of the environment are in use.
    case tooManyReaders
    /// The files are damaged.
    case damaged
    /// The open files were removed or replaced. The caller opens the environment again.
    case replaced
    /// Other errors.
    case failed
  }

  /// The content of an environment.
  enum Content: Hashable, Sendable {
    case thumbnails
    case jobs
  }

  package let code: Code
  /// The C function or the step that failed, such as `mdb_put`.
  package let operation: String
  /// The directory of the environment; empty if unknown.
  package let path: String
  private let content: Content
  /// Whether the disk has no room for the budget.
  private let isOfDisk: Bool

  init(
    _ code: Code, operation: String, path: String = "", content: Content = .thumbnails,
    isOfDisk: Bool = false
  ) {
    self.code = code
    self.operation = operation
    self.path = path
    self.content = content
    self.isOfDisk = isOfDisk
  }

  /// The error of a system call.
  init(_ error: SystemError) {
    self.init(Code(rawValue: error.code), operation: error.operation)
  }

  /// The same error with its place.
  func at(_ path: String, content: Content) -> StoreError {
    StoreError(code, operation: operation, path: path, content: content, isOfDisk: isOfDisk)
  }

  /// Converts errors of system calls.
  static func wrapping<Result: ~Copyable>(
    _ body: () throws(SystemError) -> Result
  ) throws(StoreError) -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      throw StoreError(error)
    }
  }

  package var reason: Reason {
    switch code {
    case .noSuchFile: .absent
    case .largerThanBudget: .tooLarge
    case .pinned: .pinned
    case .mapFull, .noSpace, .quotaExceeded, .fileTooLarge, .inputOutput: .full
    case .readOnlyFileSystem, .accessDenied, .notPermitted: .notPermitted
    case .versionMismatch: .newerVersion
    case .outdated: .olderVersion
    case .readersFull: .tooManyReaders
    case .corrupted, .invalid, .pageNotFound, .cursorFull, .pageFull, .incompatible, .panic,
      .truncated:
      .damaged
    case .replaced: .replaced
    default: .failed
    }
  }

  /// Whether there is no space; the outcome of a URL is then `store_full`.
  package var isFull: Bool { [.full, .tooLarge, .pinned].contains(reason) }

  /// Whether a job that pins its thumbnails waits until there is room for this one.
  package var endsWithRoom: Bool { reason == .pinned || code == .noSpace }
}

extension StoreError: CustomStringConvertible {
  package var description: String {
    let name = content == .jobs ? "the journal" : "the store"
    let place = path.isEmpty ? name : "\(name) in \(path)"
    let sentence =
      switch reason {
      case .absent: "\(place) does not exist yet"
      case .full where code == .noSpace: "the disk of \(place) is full\(remedyOfFull)"
      case .full: "\(place) is full, or its disk is\(remedyOfFull)"
      case .pinned where isOfDisk: "the disk of \(place) is full"
      case .pinned: "pins use up the budget of \(place)"
      case .tooLarge: "the thumbnail is larger than the budget of \(place)"
      case .notPermitted: "this user is not permitted to use \(place) in this way"
      case .newerVersion:
        "\(place) was written by a newer release of imgctl; run that release, or \(fresh)"
      case .olderVersion:
        "\(place) was written by an older release of imgctl; \(fresh)"
      case .tooManyReaders: "\(place) has too many concurrent readers"
      case .damaged: "\(place) is damaged\(remedy)"
      case .replaced: "\(place) was removed or replaced while it was in use; try again"
      case .failed: "\(place) failed"
      }
    return "\(sentence) (\(cause))\(adviceOnRoom)"
  }

  /// The failed operation and its code.
  var cause: String {
    let text = code.explanation
    // LMDB's own messages begin with the name.
    return "\(operation): \(text.hasPrefix(code.name) ? text : "\(code.name), \(text)")"
  }

  /// What makes room for thumbnails.
  private var adviceOnRoom: String {
    guard content == .thumbnails else { return "" }
    return switch reason {
    case .full:
      "; free space on the disk, or remove all thumbnails, pinned ones too, with imgctl cache reset"
    case .pinned where isOfDisk:
      "; free space on it, or imgctl export JOB DIR or imgctl unpin JOB makes room"
    case .pinned: "; imgctl export JOB DIR or imgctl unpin JOB makes room"
    case .tooLarge: "; --store-budget sets the budget"
    default: ""
    }
  }

  /// The remedy for a full disk.
  private var remedyOfFull: String {
    content == .jobs
      ? "; free space on it: remove other files, or old jobs with imgctl remove --older-than 7d; if the store is on "
        + "the same disk, imgctl cache reset removes all thumbnails, also pinned ones that no export has written"
      : ""
  }

  /// The remedy for files of another release.
  private var fresh: String {
    switch content {
    case .thumbnails: "remove it, and requests make its thumbnails again"
    case .jobs: "move it away, run imgctl start, and submit its jobs again"
    }
  }

  /// The remedy for damaged files.
  private var remedy: String {
    guard !path.isEmpty else { return "" }
    return switch content {
    case .thumbnails: "; remove \(path), and requests make its thumbnails again"
    case .jobs:
      "; run imgctl recover \(path.shellWord) DIR to extract the intact jobs, then move \(path) away, run "
        + "imgctl start, and submit the lists again; no thumbnail is lost"
    }
  }
}

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
