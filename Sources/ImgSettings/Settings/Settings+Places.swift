/// The paths in the data directory.
extension Settings {
  /// The directory in which the store lies, with what replaces it. Of the data directory, workers reach
  /// this alone.
  package var storePlace: String { Self.storePlace(in: dataDirectory) }
  /// The shared store of thumbnails.
  package var storeDirectory: String { Self.storeDirectory(in: dataDirectory) }
  /// The coordinator's journal of jobs.
  package var journalDirectory: String { "\(dataDirectory)/journal" }
  /// The file that the coordinator of this data directory locks, see `FileLock`.
  package var lockPath: String { Self.lockPath(in: dataDirectory) }
  /// The log of a coordinator in the background.
  package var logPath: String { "\(dataDirectory)/coordinator.log" }

  /// The lock file of any data directory.
  package static func lockPath(in dataDirectory: String) -> String {
    "\(dataDirectory)/coordinator.lock"
  }

  /// The directory of the store in any data directory.
  package static func storePlace(in dataDirectory: String) -> String { "\(dataDirectory)/store" }

  /// The store of any data directory.
  package static func storeDirectory(in dataDirectory: String) -> String {
    "\(storePlace(in: dataDirectory))/thumbnails"
  }

  /// Whether a command starts a coordinator if none answers. It does not if the socket is that of a
  /// service, which its manager starts: /run is for services, except /run/user (file-hierarchy(7)).
  package var startsCoordinator: Bool {
    if let autostart { return autostart }
    let isBelowRun = ["/run/", "/var/run/"].contains(where: socketPath.hasPrefix)
    let isUsers = ["/run/user/", "/var/run/user/"].contains(where: socketPath.hasPrefix)
    return !isBelowRun || isUsers
  }

  /// The default data directory of this user; `nil` if the environment has no home directory.
  package static func defaultDataDirectory(
    environment: [String: String], userID: UInt32
  ) -> String? {
    DefaultPlaces(environment: environment, userID: userID).dataDirectory
  }

  /// The home directory of the environment; `nil` if it has none.
  package static func homeDirectory(in environment: [String: String]) -> String? {
    DefaultPlaces.absolutePath(environment["HOME"])
  }

  /// The same settings with absolute paths.
  ///
  /// - Parameter directory: the working directory for relative paths.
  package func resolved(in directory: String) -> Settings {
    func absolute(_ path: String) -> String {
      var path = path.hasPrefix("/") ? path : "\(directory)/\(path)"
      // A client compares its directory with its coordinator's, so each needs one spelling.
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
