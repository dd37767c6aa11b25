import ImgSystem

/// The directories below which a coordinator and the processes that it starts may write, and thus a
/// process that starts a coordinator. All paths are absolute.
package struct WritablePaths {
  /// Where a user's directory for sockets is made at login and removed at logout.
  private static let loginDirectory = "/run/user"
  /// Where workers spool bodies if the data directory takes none.
  private static let spoolDirectory = "/tmp"

  private let dataDirectory: String
  private let socketPath: String
  private let storePlace: String

  /// - Parameter storePlace: the directory in which the store lies.
  package init(dataDirectory: String, socketPath: String, storePlace: String) {
    self.dataDirectory = dataDirectory
    self.socketPath = socketPath
    self.storePlace = storePlace
  }

  package var all: [String] {
    [dataDirectory, socketRoot, Self.spoolDirectory, linkedStorePlace].compactMap(\.self)
  }

  /// What the log should say of the paths; `nil` for nothing.
  package var remark: String? {
    guard let directory = WritablePlace.around(socketPath), socketRoot == directory else {
      return nil
    }
    return "\(directory) lies in /, where this process may not write: if it is removed, the "
      + "control socket is not made again"
  }

  /// Where the store lies if its directory is a symbolic link, as to another disk; `nil` if it is none.
  private var linkedStorePlace: String? {
    (try? Directory.resolve(storePlace)).flatMap { $0 == storePlace ? nil : $0 }
  }

  /// The socket is made again when it is removed, with its directory. A rule for a directory ends
  /// with that directory, so it is for one that stays.
  private var socketRoot: String? {
    if socketPath.hasPrefix("\(Self.loginDirectory)/") { return Self.loginDirectory }
    return WritablePlace.around(socketPath).flatMap(WritablePlace.around)
  }
}
