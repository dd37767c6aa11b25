import Glibc
package import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
package import ImgWire

/// Why the coordinator could not be asked, or did not do as asked. Each is a sentence for people.
package enum ClientError: Error, CustomStringConvertible {
  /// No coordinator answers at the socket.
  case unreachable(socketPath: String, reason: String)
  /// The socket is another user's, who alone may connect.
  case denied(socketPath: String, ownerID: UInt32, reason: String)
  /// Another user listens at the socket, or could.
  ///
  /// - ownerID: that user; `nil` if the owner of the place is not what makes it unsafe.
  case untrusted(socketPath: String, ownerID: UInt32?, reason: String)
  /// None listens at the socket, but a process owns the data directory.
  case notListening(socketPath: String, dataDirectory: String, processID: Int32, reason: String)
  /// None listens at the socket, and the one that owns the data directory has another socket.
  case listensElsewhere(processID: Int32, socketPath: String, dataDirectory: String)
  /// None listens at the socket, and a command may not start one there.
  case notAutostarted(socketPath: String, reason: String)
  /// No coordinator runs for a copy of a data directory, and only a person starts one there: both would fetch the
  /// same.
  case copy(dataDirectory: String, original: String)
  /// No coordinator runs, and the data directory that the user named is not there.
  case absent(reason: String)
  /// The coordinator keeps its thumbnails elsewhere than this client looks for them. Its status names its
  /// directories; `nil` if it is not known.
  case otherStore(socketPath: String, theirs: String, ours: String, status: ClusterStatus?)
  /// A coordinator was to be started and did not come up.
  case notStarted(reason: String)
  /// The coordinator is of another protocol.
  case otherVersion(theirs: Hello)
  case refused(Failure.Code, message: String)
  /// The connection ended before the answer.
  case connection(ChannelError)
  /// The connection ended while a list was submitted.
  ///
  /// - isComplete: whether all of the list was sent. Only then may the coordinator have accepted
  ///   it: no job begins before its list's end has arrived.
  case submission(isComplete: Bool, ChannelError)

  /// The coordinator answered another question.
  static var unexpectedReply: ClientError {
    .connection(.message(MessageError(description: "an answer to another question")))
  }

  /// For users of the command line.
  package var description: String { "\(reason)\(remedy.map { "; \($0.command)" } ?? "")" }

  /// For programs that use the library.
  var libraryDescription: String { "\(reason)\(remedy.map { "; \($0.library)" } ?? "")" }

  /// What is wrong.
  private var reason: String {
    switch self {
    case .unreachable(let socketPath, let reason):
      "no coordinator answers at \(socketPath): \(reason)"
    case .denied(let socketPath, let ownerID, let reason):
      "the control socket \(socketPath) belongs to user \(ownerID), and no other user may connect: "
        + reason
    case .untrusted(let socketPath, _, let reason):
      "the control socket \(socketPath) is not safe, and nothing was sent (\(reason))"
    case .notListening(let socketPath, let dataDirectory, let processID, let reason):
      "no coordinator answers at \(socketPath), but process \(processID) owns the data directory "
        + "\(dataDirectory): \(reason)"
    case .listensElsewhere(let processID, let socketPath, let dataDirectory):
      "the data directory \(dataDirectory) belongs to a coordinator (process \(processID)) that "
        + "listens at \(socketPath)"
    case .notAutostarted(let socketPath, let reason):
      "no coordinator answers at \(socketPath), and commands start none there: \(reason)"
    case .copy(let dataDirectory, let original):
      "no coordinator runs for \(dataDirectory), which is a copy of \(original)"
    case .absent(let reason): reason
    case .otherStore(let socketPath, let theirs, let ours, _):
      "the coordinator at \(socketPath) keeps \(theirs), not \(ours)"
    case .notStarted(let reason): "the coordinator did not start: \(reason)"
    case .otherVersion(let theirs):
      "the running coordinator is imgctl \(theirs.version) (protocol \(theirs.protocolVersion)), "
        + "this is \(Build.version) (protocol \(Build.protocolVersion))"
    case .refused(_, let message): message
    case .connection(let error) where error.meansPeerGone: "the coordinator has gone"
    case .connection(let error): Self.broken(error)
    case .submission(_, let error):
      error.meansPeerGone ? "the coordinator has gone" : Self.broken(error)
    }
  }

  /// What to do about it, or what follows from it; `nil` if nothing can be said.
  private var remedy: (command: String, library: String)? {
    switch self {
    case .unreachable:
      ("start one with: imgctl start", "start one with imgctl start, or set startsCoordinator")
    case .denied(_, let ownerID, _):
      (
        "run the command as that user, such as with sudo -u \(UserName.text(of: ownerID)), or name a "
          + "socket of your own with --socket",
        "run the program as that user, or set socketPath to a socket of your own"
      )
    case .untrusted(_, let ownerID?, _):
      (
        "if that is the user of your service, run the command as that user: sudo -u "
          + "\(UserName.text(of: ownerID)) imgctl …; else name a socket in a directory of your own with "
          + "--socket",
        "run the program as the user of the service, or set socketPath to one in a directory of your own"
      )
    case .untrusted:
      (
        "name a directory of your own with --data-dir or, for the socket alone, --socket, or set XDG_RUNTIME_DIR "
          + "to one",
        "set dataDirectory to a directory of your own, or socketPath to a socket in one, or XDG_RUNTIME_DIR to one"
      )
    case .notListening:
      ("try again in a second, or end it with: imgctl stop", "try again in a second")
    case .listensElsewhere: ("name that with --socket", "set socketPath to that")
    case .notAutostarted:
      (
        "start its service, such as with systemctl start imgcoordinator",
        "start its service, such as with systemctl start imgcoordinator, or set startsCoordinator"
      )
    case .copy:
      Self.both(
        "only imgctl start starts one in a copy, because both would fetch the same URLs")
    case .otherStore(_, _, _, let status):
      (
        "give its \(status?.placeFlags ?? "--data-dir"), or name another coordinator's --socket",
        "set dataDirectory to its directory, or socketPath to the socket of another coordinator"
      )
    case .otherVersion(let theirs): Self.both("end it with: kill \(theirs.processID)")
    case .connection(let error) where error.meansPeerGone:
      Self.both("accepted jobs go on when it is started again (imgctl start)")
    case .submission(let isComplete, _):
      Self.both(
        isComplete
          ? "whether it accepted the list is not known: imgctl list tells"
          : "the list had not arrived whole and was not accepted")
    case .absent, .notStarted, .refused, .connection: nil
    }
  }

  private static func both(_ text: String) -> (command: String, library: String) { (text, text) }

  private static func broken(_ error: ChannelError) -> String {
    "the connection to the coordinator broke: \(error)"
  }
}

extension ClusterStatus {
  /// The flags that name the directories of the coordinator and its store.
  fileprivate var placeFlags: String {
    var flags = ["--data-dir \(dataDirectory.shellWord)"]
    if cacheDirectory != dataDirectory { flags.append("--cache-dir \(cacheDirectory.shellWord)") }
    if storeName != Settings.defaultStoreName {
      flags.append("--store-name \(storeName.shellWord)")
    }
    return flags.joined(separator: " ")
  }
}

extension ChannelError {
  /// Whether the other process has left, rather than that the connection broke.
  var meansPeerGone: Bool {
    switch self {
    case .closed: true
    case .system(let error): error.code == EPIPE || error.code == ECONNRESET
    case .timedOut, .framing, .message, .passedFile, .peerDoesNotRead: false
    }
  }
}

/// The names of users.
private enum UserName {
  private static let path = "/etc/passwd"
  private static let maximumByteCount = 1 << 20

  /// A user as sudo(8) takes it: the name, or `'#995'` for one that has none in /etc/passwd.
  ///
  /// Reads the file itself: a confined process may not load what getpwuid(3) needs.
  static func text(of userID: UInt32) -> String {
    let bytes = (try? FileIO.contents(of: path, upTo: maximumByteCount)) ?? []
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      if fields.count > 2, fields[2] == "\(userID)" { return String(fields[0]) }
    }
    return "'#\(userID)'"
  }
}

extension ImageError {
  init(invalidRequest message: String) {
    self.init(code: .invalidRequest, message: message)
  }

  static func cancelled(_ url: String?) -> ImageError {
    ImageError(code: .cancelled, url: url, message: "the request was cancelled")
  }

  package static func timedOut(_ url: String?, after timeout: Duration) -> ImageError {
    ImageError(Failure.timedOut(after: timeout, in: .queue), url: url)
  }

  /// A failure that is retryable although the request was cancelled is that of a coordinator that stops.
  init(_ failure: Failure, url: String?) {
    let isOfStop = failure.code == .cancelled && failure.isRetryable
    self.init(
      code: isOfStop ? .disconnected : failure.code, url: url, isRetryable: failure.isRetryable,
      httpStatus: failure.httpStatus, retryTime: failure.retryAt, message: failure.detail)
  }

  init(_ error: ClientError, url: String?) {
    self.init(
      code: error.errorCode, url: url, isRetryable: error.isRetryable,
      message: error.libraryDescription)
  }

  /// - Parameter timeout: that of the request.
  init(_ error: SessionError, url: String?, timeout: Duration? = nil) {
    switch error {
    case .cancelled: self = .cancelled(url)
    case .timedOut: self = .timedOut(url, after: timeout ?? .zero)
    case .client(let error): self.init(error, url: url)
    }
  }

  /// The reason why the store was not read or changed.
  init(cause error: any Error, url: String?) {
    switch error {
    case let error as ImageError: self = error
    case let error as StoreError: self.init(error, url: url)
    case let failure as Failure: self.init(failure, url: url)
    default: self.init(code: .internal, url: url, isRetryable: true, message: "\(error)")
    }
  }

  /// The same error about a URL.
  func about(_ url: String) -> ImageError {
    ImageError(
      code: code, url: self.url ?? url, isRetryable: isRetryable, httpStatus: httpStatus,
      retryTime: retryTime, message: message)
  }

  /// The same error with other advice. Advice follows the first sentence.
  package func advising(_ advice: String) -> ImageError {
    let end = message.firstRange(of: "; ")?.lowerBound ?? message.endIndex
    return ImageError(
      code: code, url: url, isRetryable: isRetryable, httpStatus: httpStatus, retryTime: retryTime,
      message: "\(message[..<end]); \(advice)")
  }

  init(_ error: StoreError, url: String?) {
    // The other codes of a store speak of the store in any case.
    let code = error.errorCode.meansNoCoordinator ? .storeFailure : error.errorCode
    self.init(code: code, url: url, isRetryable: true, message: "\(error)")
  }
}

/// An error that has a code for scripts, apart from its sentence.
package protocol CodedError: Error {
  var errorCode: ImageError.Code { get }
  /// Whether no coordinator could be reached or started, or none that can serve requests.
  var meansNoCoordinator: Bool { get }
}

extension CodedError {
  package var meansNoCoordinator: Bool { errorCode.meansNoCoordinator }
}

extension ImageError: CodedError {
  package var errorCode: Code { code }
}

extension Failure: CodedError {
  package var errorCode: Code { code }
}

extension ClientError: CodedError {
  package var errorCode: ImageError.Code {
    switch self {
    case .unreachable, .notAutostarted, .copy, .absent: .unreachable
    case .denied: .notPermitted
    case .untrusted: .unsafeSocket
    case .notListening, .listensElsewhere: .notListening
    case .otherStore: .otherDataDirectory
    case .notStarted: .notStarted
    case .otherVersion: .versionMismatch
    case .refused(let code, _): code
    case .connection, .submission: .disconnected
    }
  }

  fileprivate var isRetryable: Bool {
    switch self {
    case .listensElsewhere, .copy: false
    // The same list may be a job already.
    case .submission(let isComplete, _): !isComplete
    default: errorCode.isRetryable(httpStatus: nil)
    }
  }
}

extension StoreError: CodedError {
  package var errorCode: ImageError.Code {
    switch reason {
    case .absent: .storeAbsent
    case .full, .tooLarge, .pinned: .storeFull
    case .notPermitted: .notPermitted
    case .newerVersion, .olderVersion: .versionMismatch
    case .damaged: .storeDamaged
    case .tooManyReaders, .replaced, .failed: .storeFailure
    }
  }

  package var meansNoCoordinator: Bool { false }
}
