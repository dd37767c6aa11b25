/// Where things lie in the data directory.
extension Settings {
  /// The shared store of thumbnails.
  package var storeDirectory: String { "\(dataDirectory)/store" }
  /// The coordinator's journal of jobs.
  package var journalDirectory: String { "\(dataDirectory)/journal" }
  /// What the coordinator of this data directory holds locked, see `FileLock`.
  package var lockPath: String { Self.lockPath(in: dataDirectory) }
  /// What a coordinator that was started in the background has to say.
  package var logPath: String { "\(dataDirectory)/coordinator.log" }

  /// The same of any data directory.
  package static func lockPath(in dataDirectory: String) -> String {
    "\(dataDirectory)/coordinator.lock"
  }

  /// Whether a command starts a coordinator when none answers: not where a service listens, which
  /// its manager starts. /run belongs to root but for the directories of users (file-hierarchy(7)).
  package var startsCoordinator: Bool {
    if let autostart { return autostart }
    let isBelowRun = ["/run/", "/var/run/"].contains(where: socketPath.hasPrefix)
    let isUsers = ["/run/user/", "/var/run/user/"].contains(where: socketPath.hasPrefix)
    return !isBelowRun || isUsers
  }

  /// Where the data of this user is when nobody names a place; `nil` when the environment knows no
  /// home.
  package static func defaultDataDirectory(
    environment: [String: String], userID: UInt32
  ) -> String? {
    DefaultPlaces(environment: environment, userID: userID).dataDirectory
  }

  /// The same settings with places that hold in any working directory.
  ///
  /// - Parameter directory: the working directory that relative paths were meant in.
  package func resolved(in directory: String) -> Settings {
    func absolute(_ path: String) -> String {
      var path = path.hasPrefix("/") ? path : "\(directory)/\(path)"
      // Two spellings of one directory must be equal: a client compares its own with its
      // coordinator's.
      while path.count > 1, path.hasSuffix("/") { path.removeLast() }
      return path
    }
    var resolved = self
    resolved.socketPath = absolute(socketPath)
    resolved.dataDirectory = absolute(dataDirectory)
    resolved.workerExecutable = workerExecutable.map(absolute)
    resolved.allowedDirectories = allowedDirectories.map(absolute)
    resolved.authorityFile = authorityFile.map(absolute)
    return resolved
  }
}
