import ImgSandbox
import ImgSettings
import ImgSystem

/// The directories below which the coordinator and the processes that it starts may write.
enum WritablePaths {
  /// Where a user's directory for sockets is made at login and removed at logout.
  private static let loginDirectory = "/run/user"
  /// Where workers spool bodies if the data directory takes none.
  private static let spoolDirectory = "/tmp"

  /// - Parameter settings: resolved.
  static func all(_ settings: Settings) -> [String] {
    let paths = [
      settings.dataDirectory, socketRoot(of: settings.socketPath), spoolDirectory,
      linkedStoreRoot(of: settings.storeDirectory),
    ]
    return paths.compactMap(\.self)
  }

  /// What the log should say of the paths; `nil` for nothing.
  ///
  /// - Parameter settings: resolved.
  static func remark(on settings: Settings) -> String? {
    guard let directory = WritablePlace.around(settings.socketPath),
      socketRoot(of: settings.socketPath) == directory
    else { return nil }
    return "\(directory) lies in /, where this process may not write: if it is removed, the "
      + "control socket is not made again"
  }

  /// Where the store lies if it is a symbolic link, as to another disk; `nil` if it is none.
  private static func linkedStoreRoot(of path: String) -> String? {
    guard let resolved = try? Directory.resolve(path), resolved != path else { return nil }
    return WritablePlace.around(resolved)
  }

  /// The socket is made again when it is removed, with its directory. A rule for a directory ends
  /// with that directory, so it is for one that stays.
  private static func socketRoot(of path: String) -> String? {
    if path.hasPrefix("\(loginDirectory)/") { return loginDirectory }
    return WritablePlace.around(path).flatMap(WritablePlace.around)
  }
}
