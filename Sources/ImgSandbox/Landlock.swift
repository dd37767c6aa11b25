import CLinux
import Glibc
import ImgSystem

/// The directories below which a coordinator and the processes that it starts may write, and thus a
/// process that starts a coordinator. All paths are absolute.
package struct WritablePaths {
  /// Where a user's directory for sockets is made at login and removed at logout.
  private static let loginDirectory = "/run/user"
  /// Where workers spool bodies if the data directory takes none.
  private static let spoolDirectory = "/tmp"

  /// The data directory, and that of the cache if it is another.
  private let directories: [String]
  private let socketPath: String
  private let storePlace: String
  private let homeDirectory: String?
  private let runtimeDirectory: String?

  /// - Parameters:
  ///   - storePlace: the directory in which the store lies.
  ///   - homeDirectory: the user's, where programs are configured and started from; `nil` if there is none.
  ///   - runtimeDirectory: the user's for sockets, which a login makes; `nil` if there is none.
  package init(
    dataDirectory: String, cacheDirectory: String, socketPath: String, storePlace: String,
    homeDirectory: String?, runtimeDirectory: String?
  ) {
    directories = [dataDirectory] + (cacheDirectory == dataDirectory ? [] : [cacheDirectory])
    self.socketPath = socketPath
    self.storePlace = storePlace
    self.homeDirectory = homeDirectory
    self.runtimeDirectory = runtimeDirectory
  }

  package var all: [String] {
    directories.map(root)
      + [socketRoot, Self.spoolDirectory, linkedStorePlace].compactMap(\.self)
  }

  /// The directories below which the process may make directories and sockets, and nothing else: that around
  /// the user's directory for sockets, which a logout removes and the next login makes.
  package var socketPaths: [String] {
    guard let runtimeDirectory, socketPath.hasPrefix("\(runtimeDirectory)/"),
      let around = WritablePlace.around(runtimeDirectory), around != runtimeDirectory
    else { return [] }
    return [around]
  }

  /// What the log should say of the paths.
  package var remarks: [String] {
    var remarks: [String] = []
    for directory in directories where root(directory) == directory {
      remarks.append(
        "do not remove \(directory) while the coordinator runs: its sandbox lets it make no directory in / "
          + "or in the home directory, so it would end")
    }
    if let directory = WritablePlace.around(socketPath), socketRoot == directory {
      remarks.append(
        "do not remove \(directory) while the coordinator runs: its sandbox lets it make no directory in /, so "
          + "there would be no control socket")
    }
    return remarks
  }

  /// A directory is made again when it is removed, so the rule is for the one around it. All rights below
  /// the home directory would be too many.
  private func root(_ directory: String) -> String {
    guard let around = WritablePlace.around(directory), !isHome(around) else { return directory }
    return around
  }

  private func isHome(_ path: String) -> Bool {
    guard let homeDirectory else { return false }
    let paths = [path, homeDirectory].map { (try? Directory.resolve($0)) ?? $0 }
    return paths[0] == paths[1]
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

/// What a process may reach by names that all processes share: paths, ports, sockets, processes. A
/// description, which ``LandlockRuleset`` puts in force.
package struct AccessRules: Hashable, Sendable {
  /// The rights below a path. A path that does not exist has none, even if it is created later.
  package struct Exception: Hashable, Sendable {
    package let path: String
    package let rights: FileRights
  }

  /// The rights on paths that the process loses, except for the exceptions.
  package let refusedRights: FileRights
  package private(set) var exceptions: [Exception] = []
  package var refusesTCPConnect = true
  package var refusesTCPBind = true
  /// Whether it can connect only to abstract sockets of its own children and itself.
  package var refusesAbstractSockets = true
  /// Whether it can signal only its own children and itself.
  package var refusesSignals = true

  init(refusing rights: FileRights = .all) {
    refusedRights = rights
  }

  mutating func allow(_ rights: FileRights, below paths: [String]) {
    exceptions += paths.map { Exception(path: $0, rights: rights) }
  }
}

/// Rights on files and directories, as Landlock distinguishes them (landlock(7)).
package struct FileRights: OptionSet, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  private init(_ bits: Int...) {
    rawValue = UInt64(bits.reduce(0, |))
  }

  static let readFiles = FileRights(IMG_LANDLOCK_READ_FILE)
  static let readDirectories = FileRights(IMG_LANDLOCK_READ_DIR)
  static let execute = FileRights(IMG_LANDLOCK_EXECUTE)
  static let writeFiles = FileRights(IMG_LANDLOCK_WRITE_FILE, IMG_LANDLOCK_TRUNCATE)
  static let createAndRemove = FileRights(
    IMG_LANDLOCK_MAKE_REG, IMG_LANDLOCK_MAKE_DIR, IMG_LANDLOCK_REMOVE_FILE,
    IMG_LANDLOCK_REMOVE_DIR, IMG_LANDLOCK_REFER)
  static let removeFiles = FileRights(IMG_LANDLOCK_REMOVE_FILE)
  static let createSpecialFiles = FileRights(
    IMG_LANDLOCK_MAKE_CHAR, IMG_LANDLOCK_MAKE_BLOCK, IMG_LANDLOCK_MAKE_FIFO,
    IMG_LANDLOCK_MAKE_SOCK, IMG_LANDLOCK_MAKE_SYM)
  static let createSockets = FileRights(IMG_LANDLOCK_MAKE_DIR, IMG_LANDLOCK_MAKE_SOCK)
  static let controlDevices = FileRights(IMG_LANDLOCK_IOCTL_DEV)

  static let read: FileRights = [.readFiles, .readDirectories]
  static let readAndWrite: FileRights = [.read, .writeFiles, .createAndRemove]
  /// Writing files that have a name already, or none.
  static let readAndWriteFiles: FileRights = [.readFiles, .writeFiles]
  static let all: FileRights = [
    .readAndWrite, .execute, .createSpecialFiles, .controlDevices,
  ]

  /// Those that a rule on a file that is not a directory may have.
  static let ofFiles: FileRights = [.readFiles, .writeFiles, .execute, .controlDevices]

  /// Those that a version of Landlock knows. It cannot refuse the others.
  func known(to version: Int) -> FileRights {
    var unknown = 0
    if version < 2 { unknown |= IMG_LANDLOCK_REFER }
    if version < 3 { unknown |= IMG_LANDLOCK_TRUNCATE }
    if version < 5 { unknown |= IMG_LANDLOCK_IOCTL_DEV }
    return subtracting(FileRights(unknown))
  }
}

/// Access rules in the form that Landlock (landlock(7)) takes.
struct LandlockRuleset: ~Copyable {
  private let descriptor: OwnedDescriptor

  private init(refusing rights: img_landlock_rights) throws(SystemError) {
    var rights = rights
    descriptor = OwnedDescriptor(
      adopting: try systemCall("landlock_create_ruleset") { unsafe img_landlock_create(&rights) })
  }

  /// Restricts the calling thread and the threads that it will create. There is no way back.
  ///
  /// - Parameter version: the kernel's. An older one refuses less.
  static func enforce(_ rules: AccessRules, version: Int) throws(SystemError) {
    let refused = rights(refusedBy: rules, version: version)
    let ruleset = try LandlockRuleset(refusing: refused)
    for exception in rules.exceptions {
      try ruleset.add(exception, within: FileRights(rawValue: refused.files))
    }
    _ = try systemCall("landlock_restrict_self") {
      img_landlock_restrict(ruleset.descriptor.rawValue)
    }
  }

  private static func rights(
    refusedBy rules: AccessRules, version: Int
  ) -> img_landlock_rights {
    var rights = img_landlock_rights()
    rights.files = rules.refusedRights.known(to: version).rawValue
    if version >= 4 {
      if rules.refusesTCPBind { rights.network |= UInt64(IMG_LANDLOCK_BIND_TCP) }
      if rules.refusesTCPConnect { rights.network |= UInt64(IMG_LANDLOCK_CONNECT_TCP) }
    }
    if version >= 6 {
      if rules.refusesAbstractSockets {
        rights.scopes |= UInt64(IMG_LANDLOCK_SCOPE_ABSTRACT_SOCKET)
      }
      if rules.refusesSignals { rights.scopes |= UInt64(IMG_LANDLOCK_SCOPE_SIGNAL) }
    }
    return rights
  }

  /// The version of the kernel's Landlock; `nil` if it has none or has it disabled.
  static var version: Int? {
    let version = img_landlock_version()
    return version > 0 ? Int(version) : nil
  }

  private func add(
    _ exception: AccessRules.Exception, within refused: FileRights
  ) throws(SystemError) {
    guard let path = try Self.descriptor(naming: exception.path) else { return }
    var rights = exception.rights.intersection(refused)
    if try !FileStatus(of: path.rawValue).isDirectory { rights.formIntersection(.ofFiles) }
    guard !rights.isEmpty else { return }
    _ = try systemCall("landlock_add_rule \(exception.path)") {
      img_landlock_allow_beneath(descriptor.rawValue, path.rawValue, rights.rawValue)
    }
  }

  /// - Returns: `nil` if the process cannot reach the path, so that it needs no exception.
  private static func descriptor(naming path: String) throws(SystemError) -> OwnedDescriptor? {
    do throws(SystemError) {
      return try FileIO.open(naming: path)
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR, EACCES, ELOOP: return nil
      default: throw error
      }
    }
  }
}

/// Where a process writes to replace a file or a directory by another of its name.
package enum WritablePlace {
  /// The directory that contains `path`. Where that is the root of all files, below which no process
  /// may write, it is `path` itself, which then cannot be replaced.
  ///
  /// - Returns: `nil` if `path` is the root.
  package static func around(_ path: String) -> String? {
    guard !isRoot(path) else { return nil }
    let parent = String(path.lastIndex(of: "/").map { path[..<$0] } ?? "")
    return parent.isEmpty || isRoot(parent) ? path : parent
  }

  private static func isRoot(_ path: String) -> Bool {
    ((try? Directory.resolve(path)) ?? path) == "/"
  }
}
