import ImgSystem

/// Why the store or the journal did not do what it was asked.
///
/// The code keeps its spelling in C, so that it can be looked up in `lmdb.h` or `errno(3)`; the
/// ``reason`` is what callers branch on; the description is a sentence for people.
package struct StoreError: Error, Hashable, Sendable {
  /// What a caller may want to treat differently.
  package enum Reason: Hashable, Sendable {
    /// There is no store in the directory yet.
    case absent
    /// No room: the map, the disk, the quota or the allowed size of a file is used up.
    case full
    /// The thumbnail alone is larger than the budget; others may find room.
    case tooLarge
    /// The directory or its file system does not let this process do that.
    case notPermitted
    /// A newer release has written the directory.
    case newerVersion
    /// An older release has written the directory, in a layout that is no longer read.
    case olderVersion
    /// More readers at once than the environment has slots for.
    case tooManyReaders
    /// The files hold something else than what was written.
    case damaged
    /// Somebody has removed or replaced the files while they were open: to be opened anew.
    case replaced
    /// Anything else the machine said.
    case failed
  }

  /// What an environment keeps, and so what is lost with it.
  enum Content: Hashable, Sendable {
    case thumbnails
    case jobs
  }

  package let code: Code
  /// The C function or the step that failed, such as `mdb_put`.
  package let operation: String
  /// The directory of the environment; empty when the error arose away from one.
  package let path: String
  private let content: Content

  init(
    _ code: Code, operation: String, path: String = "", content: Content = .thumbnails
  ) {
    self.code = code
    self.operation = operation
    self.path = path
    self.content = content
  }

  /// A system call that failed.
  init(_ error: SystemError) {
    self.init(Code(rawValue: error.code), operation: error.operation)
  }

  /// The same error with the place where it happened.
  func at(_ path: String, content: Content) -> StoreError {
    StoreError(code, operation: operation, path: path, content: content)
  }

  /// Makes system calls, whose failure is the store's.
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
    case .mapFull, .noSpace, .quotaExceeded, .fileTooLarge, .inputOutput: .full
    case .readOnlyFileSystem, .accessDenied, .notPermitted: .notPermitted
    case .versionMismatch: .newerVersion
    case .outdated: .olderVersion
    case .readersFull: .tooManyReaders
    case .corrupted, .invalid, .pageNotFound, .cursorFull, .pageFull, .incompatible, .panic,
      .cutOff:
      .damaged
    case .replaced: .replaced
    default: .failed
    }
  }

  /// Whether room is what lacks; the outcome of a URL then is `store_full`.
  package var isFull: Bool { reason == .full || reason == .tooLarge }
}

extension StoreError: CustomStringConvertible {
  package var description: String {
    let name = content == .jobs ? "the journal" : "the store"
    let place = path.isEmpty ? name : "\(name) in \(path)"
    let sentence =
      switch reason {
      case .absent: "\(place) does not exist yet"
      case .full: "\(place) is full, or its disk is\(remedyOfFull)"
      case .tooLarge: "the thumbnail is larger than all that \(place) may hold"
      case .notPermitted: "\(place) may not be used that way by this user"
      case .newerVersion:
        "\(place) was written by a newer release of imgctl; run that release, or \(fresh)"
      case .olderVersion:
        "\(place) was written by an older release of imgctl; \(fresh)"
      case .tooManyReaders: "\(place) has too many readers at once"
      case .damaged: "\(place) is damaged\(remedy)"
      case .replaced: "\(place) was removed or replaced while it was in use; try again"
      case .failed: "\(place) failed"
      }
    return "\(sentence) (\(cause))"
  }

  /// What failed, for those who look it up.
  var cause: String { "\(operation): \(code.name), \(code.explanation)" }

  /// What to do about a disk that is full.
  private var remedyOfFull: String {
    content == .jobs ? "; make room on it, such as by imgctl cache reset" : ""
  }

  /// What to do about files of another release, and what that costs.
  private var fresh: String {
    switch content {
    case .thumbnails: "remove it, its thumbnails are made again"
    case .jobs: "move it away, run imgctl start, and submit its jobs again"
    }
  }

  /// What to do about damaged files, and what that costs.
  private var remedy: String {
    guard !path.isEmpty else { return "" }
    return switch content {
    case .thumbnails: "; remove \(path), its thumbnails are made again"
    case .jobs:
      "; run imgctl recover \(path) DIR, which extracts the jobs that are intact, then move \(path) "
        + "away, run imgctl start, and submit the lists again; no thumbnail is lost"
    }
  }
}
