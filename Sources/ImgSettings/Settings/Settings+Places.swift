/// Where things lie in the data directory.
extension Settings {
  /// The shared store of thumbnails.
  package var storeDirectory: String { "\(dataDirectory)/store" }
  /// The coordinator's journal of jobs.
  package var journalDirectory: String { "\(dataDirectory)/journal" }
  /// What a coordinator that was started in the background has to say.
  package var logPath: String { "\(dataDirectory)/coordinator.log" }

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
