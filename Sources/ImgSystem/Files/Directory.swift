import CLinux
import Glibc

/// Operations on directories.
package enum Directory {
  /// Ensures that `path` is a directory of this user that no other user can write or replace, see
  /// ``requireExclusive(_:mayBeForeign:)``. Creates missing directories with mode 0700. Existing
  /// ones keep their mode. Creates nothing below a directory that another user could replace.
  ///
  /// - Throws: EPERM if the last component is a symbolic link, belongs to another user or is
  ///   writable by others; ENOTDIR if it is not a directory. In a shared place such as /tmp,
  ///   another user may have created it first.
  package static func createPrivate(_ path: String) throws(SystemError) {
    try requireCreatable(path)
    // With a trailing slash, the kernel would follow a symbolic link.
    var path = path
    while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }

    do {
      try createOne(path)
    } catch {
      guard error.code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex
      else { throw error }
      try createParents(of: path)
      try createOne(path)
    }
    let status = try FileStatus(at: path)
    guard status.isDirectory || status.isSymbolicLink else {
      throw refusal("use \(path), which is no directory", ENOTDIR)
    }
    guard status.isDirectory else {
      throw refusal("use \(path), which is a symbolic link")
    }
    guard status.userID == ThisProcess.userID else {
      throw refusal("use \(path), which belongs to user \(status.userID)")
    }
    try requireExclusive(path)
  }

  /// Creates a directory with its missing parents, like mkdir -p.
  ///
  /// - Parameter mode: the mode of the last directory. The parents get mode 0700.
  /// - Throws: ENOTDIR if something else has that name.
  package static func create(_ path: String, mode: UInt32 = 0o777) throws(SystemError) {
    try createParents(of: path)
    try createOne(path, mode: mode)
    guard try FileStatus(following: path).isDirectory else {
      throw SystemError(operation: "create directory \(path)", code: ENOTDIR)
    }
  }

  /// Creates the missing parents, like mkdir -p. Follows symbolic links.
  private static func createParents(of path: String) throws(SystemError) {
    for slash in path.indices.dropFirst() where path[slash] == "/" {
      try createOne(String(path[..<slash]))
    }
  }

  /// Creates one directory. Succeeds if something has that name.
  private static func createOne(_ path: String, mode: mode_t = 0o700) throws(SystemError) {
    do {
      _ = try pathCall("mkdir", path) { unsafe mkdir(path, mode) }
    } catch {
      if error.code != EEXIST { throw error }
    }
  }
}

extension Directory {
  /// Checks that only the owner of a directory, root and this process's user can add files to it or
  /// replace it. The result is valid as long as these users change nothing.
  ///
  /// The check includes every directory from the root on, and every symbolic link on the way. Each
  /// must belong to root or to this process's user, and no other user may write there. A parent
  /// directory may have the sticky bit instead, like /tmp, because other users then cannot rename
  /// its entries.
  ///
  /// - Parameter mayBeForeign: whether the last directory may belong to another user if only root
  ///   can replace it, like a service's directory in /run.
  /// - Returns: the owner of the last directory.
  /// - Throws: EPERM if the directory is not safe, with the reason and the remedy.
  @discardableResult
  package static func requireExclusive(
    _ path: String, mayBeForeign: Bool = false
  ) throws(SystemError) -> UInt32 {
    var walk = try OwnershipWalk(to: path)
    return try walk.run(mayBeForeign: mayBeForeign)
  }
}

extension Directory {
  /// Checks the directories in which ``createPrivate(_:)`` would create the missing ones, so that
  /// nothing is left where it would refuse the result.
  ///
  /// - Throws: EPERM as ``requireExclusive(_:mayBeForeign:)``. Nothing if the directory exists.
  package static func requireCreatable(_ path: String) throws(SystemError) {
    var walk = try OwnershipWalk(to: path)
    try walk.runToMissing()
  }
}

/// The error for a place that this process does not use, though no call failed.
private func refusal(_ operation: String, _ code: CInt = EPERM) -> SystemError {
  SystemError(operation: operation, code: code, isRefusal: true)
}

/// The users who may own what this process relies on: its own, and root.
package struct TrustedUsers {
  private let userID = ThisProcess.userID
  /// The owner of `/`, who can replace everything. In a user namespace, this is the number of all
  /// users without a mapping (user_namespaces(7)).
  let rootID: UInt32

  package init() throws(SystemError) {
    rootID = try FileStatus(at: "/").userID
  }

  package func contains(_ user: UInt32) -> Bool { [0, rootID, userID].contains(user) }
}

/// Follows a path like the kernel, and checks the owner and the mode of each step.
private struct OwnershipWalk {
  private let userID = ThisProcess.userID
  private let trustedUsers: TrustedUsers
  /// The names of the current path; empty for `/`.
  private var place: [Substring] = []
  /// The remaining names, the next one last.
  private var rest: [Substring]
  private var linkCount = 0
  /// Whether only root can have created the current path.
  private var isRootsAlone = true

  /// The maximum number of links that Linux follows (path_resolution(7)).
  private static let maximumLinkCount = 40

  init(to path: String) throws(SystemError) {
    trustedUsers = try TrustedUsers()
    let absolute = path.hasPrefix("/") ? path : "\(ThisProcess.currentDirectory ?? "/")/\(path)"
    rest = Self.names(in: absolute)
  }

  private static func names(in path: String) -> [Substring] {
    path.split(separator: "/").reversed()
  }

  private var path: String { "/" + place.joined(separator: "/") }

  mutating func run(mayBeForeign: Bool) throws(SystemError) -> UInt32 {
    try follow()
    let status = try directoryStatus()
    if status.userID != userID, status.userID != 0, !(mayBeForeign && isRootsAlone) {
      throw foreign(status)
    }
    guard !status.isWritableByOthers else { throw writable(status) }
    return status.userID
  }

  /// Checks the directories as far as they exist.
  mutating func runToMissing() throws(SystemError) {
    do {
      try follow()
    } catch {
      guard error.code == ENOENT else { throw error }
    }
  }

  private mutating func follow() throws(SystemError) {
    while let name = rest.popLast() {
      switch name {
      case ".": continue
      case "..": _ = place.popLast()
      default: try descend(to: name)
      }
    }
  }

  private mutating func descend(to name: Substring) throws(SystemError) {
    try checkAncestor()
    place.append(name)
    let status = try FileStatus(at: path)
    guard status.isSymbolicLink else { return }
    linkCount += 1
    guard linkCount <= Self.maximumLinkCount else {
      throw SystemError(operation: "follow \(path)", code: ELOOP)
    }
    guard isTrusted(status) else { throw foreign(status) }
    isRootsAlone = isRootsAlone && status.userID == trustedUsers.rootID
    let target = try FileIO.target(ofLink: path)
    if target.hasPrefix("/") { place = [] } else { place.removeLast() }
    rest += Self.names(in: target)
  }

  private mutating func checkAncestor() throws(SystemError) {
    let status = try directoryStatus()
    guard isTrusted(status) else { throw foreign(status) }
    guard !status.isWritableByOthers || status.isSticky else { throw writable(status) }
    isRootsAlone =
      isRootsAlone && status.userID == trustedUsers.rootID && !status.isWritableByOthers
  }

  private func directoryStatus() throws(SystemError) -> FileStatus {
    let status = try FileStatus(at: path)
    guard status.isDirectory else {
      throw SystemError(operation: "use \(path) as a directory", code: ENOTDIR)
    }
    return status
  }

  private func isTrusted(_ status: FileStatus) -> Bool { trustedUsers.contains(status.userID) }

  private func foreign(_ status: FileStatus) -> SystemError {
    refusal("use \(path), which belongs to user \(status.userID)")
  }

  private func writable(_ status: FileStatus) -> SystemError {
    let mode = String(status.permissions, radix: 8)
    // A directory such as /tmp is for all users, and has to stay so.
    let isShared = status.isSticky || status.userID != userID
    return refusal(
      "use \(path), which other users may write (mode \(mode))"
        + (isShared ? "" : "; run chmod go-w \(path)"))
  }
}

extension Directory {
  /// Exchanges two directories atomically.
  ///
  /// - Throws: EINVAL if the file system does not support it (rename(2), RENAME_EXCHANGE).
  package static func exchange(_ path: String, with other: String) throws(SystemError) {
    _ = try pathCall("exchange", path) { unsafe img_exchange(path, other) }
  }

  /// Renames a directory or a file. The new name of a directory must be unused or an empty directory.
  package static func move(_ path: String, to other: String) throws(SystemError) {
    _ = try pathCall("rename", path) { unsafe rename(path, other) }
  }

  /// Waits until the changes to a directory's entries are on the disk.
  package static func sync(_ path: String) throws(SystemError) {
    let directory = try FileIO.open(path, O_RDONLY | O_DIRECTORY)
    _ = try pathCall("fsync", path) { fsync(directory.rawValue) }
  }

  /// The path without symbolic links.
  package static func resolve(_ path: String) throws(SystemError) -> String {
    var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
    // realpath(3) writes at most PATH_MAX bytes, including the terminator.
    _ = try pathCall("resolve", path) { unsafe realpath(path, &characters) == nil ? -1 : 0 }
    let bytes = characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a directory belongs to this process's user. Follows symbolic links.
  package static func isOwn(_ path: String) throws(SystemError) -> Bool {
    try FileStatus(following: path).userID == ThisProcess.userID
  }

  /// Copies the mode and the group of a file or directory to another.
  package static func copyPermissions(
    from path: String, to other: String
  ) throws(SystemError) {
    let (model, status) = (try FileStatus(following: path), try FileStatus(following: other))
    if model.groupID != status.groupID {
      _ = try pathCall("chown", other) { unsafe chown(other, uid_t.max, model.groupID) }
    }
    if model.permissions != status.permissions {
      _ = try pathCall("chmod", other) { unsafe chmod(other, model.permissions) }
    }
  }

  /// Creates a hard link to a file on the same file system.
  package static func link(_ path: String, as other: String) throws(SystemError) {
    _ = try pathCall("link", other) { unsafe Glibc.link(path, other) }
  }
}

/// An open directory. Paths through it stay in this directory even if it is renamed meanwhile.
package struct OpenDirectory: ~Copyable, Sendable {
  let descriptor: OwnedDescriptor

  /// Opens a directory. Requires only search permission.
  ///
  /// - Throws: ENOENT if it is missing, ENOTDIR if it is not a directory.
  package init(_ path: String) throws(SystemError) {
    descriptor = OwnedDescriptor(
      adopting: try pathCall("open directory", path) { unsafe img_open_directory(path) })
  }

  /// A path to this directory while it is open, for calls that take only paths. Requires /proc
  /// (proc(5), /proc/pid/fd).
  package var path: String { "/proc/self/fd/\(descriptor.rawValue)" }

  /// Whether `path` currently leads to this directory.
  package func isNamed(_ path: String) -> Bool {
    guard let named = try? FileStatus(following: path),
      let opened = try? FileStatus(of: descriptor.rawValue)
    else { return false }
    return named.isSameFile(as: opened)
  }
}

extension OpenDirectory {
  /// Opens a regular file below this directory for reading. Follows symbolic links that stay below
  /// it. A link with an absolute path counts as leaving it (openat2(2), RESOLVE_BENEATH).
  ///
  /// - Parameters:
  ///   - path: relative to this directory.
  ///   - name: what errors call the file, such as its absolute path.
  /// - Throws: EXDEV if the path leads out of the directory, EINVAL if it is not a regular file
  ///   but, for example, a FIFO or a device, EFBIG if the file has more than `maximumByteCount`.
  package func openFile(
    _ path: String, named name: String, upTo maximumByteCount: Int
  ) throws(SystemError) -> OwnedDescriptor {
    let file = OwnedDescriptor(
      adopting: try pathCall("open", name) { [descriptor = descriptor.rawValue] in
        unsafe img_open_beneath(descriptor, path)
      })
    let status = try FileStatus(of: file.rawValue)
    guard status.isRegularFile else {
      throw SystemError(operation: "read \(name), which is not a regular file", code: EINVAL)
    }
    guard status.byteCount <= maximumByteCount else {
      throw SystemError(operation: "read \(name)", code: EFBIG)
    }
    return file
  }
}

/// The entries of a directory, read part by part: a directory may have millions.
@safe package final class DirectoryListing {
  /// What an entry is, as far as the directory says.
  package enum Kind: Sendable {
    case directory, other, unknown
  }

  package struct Entry: Sendable {
    /// Any bytes but zero and a slash.
    package let name: [UInt8]
    package let kind: Kind
  }

  private let stream: OpaquePointer

  /// Follows symbolic links.
  package init(_ path: String) throws(SystemError) {
    guard let stream = unsafe opendir(path) else { throw .last("open \(path)") }
    unsafe self.stream = stream
  }

  deinit {
    unsafe closedir(stream)
  }

  /// The next entries in the order of their names, without those of the directory itself and its parent. Larger
  /// directories are sorted part by part.
  ///
  /// - Returns: at most `maximumCount`; none at the end.
  package func next(upTo maximumCount: Int) -> [Entry] {
    var entries: [Entry] = []
    // An error while reading is seldom, and cannot be told from the end (readdir(3)).
    while entries.count < maximumCount, let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe Array(bytes.prefix { $0 != 0 })
      }
      guard name != Array(".".utf8), name != Array("..".utf8) else { continue }
      let kind: Kind =
        switch unsafe Int(entry.pointee.d_type) {
        case Int(DT_DIR): .directory
        case Int(DT_UNKNOWN): .unknown
        default: .other
        }
      entries.append(Entry(name: name, kind: kind))
    }
    return FileNames.sorted(entries) { $0.name }
  }
}

/// The order of the names of files: digits count as a number, so that `img2` comes before `img10` (strverscmp(3)).
enum FileNames {
  /// - Parameter name: without a zero byte.
  static func sorted<Element>(
    _ elements: [Element], by name: (Element) -> some Sequence<UInt8>
  ) -> [Element] {
    elements.map { (name: name($0).map(CChar.init(bitPattern:)) + [0], element: $0) }
      .sorted { unsafe strverscmp($0.name, $1.name) < 0 }
      .map(\.element)
  }
}

extension Directory {
  /// The paths that match a pattern of glob(7), in the order of their names; none if nothing does.
  package static func matches(_ pattern: String) -> [String] {
    var found = unsafe glob_t()
    defer { unsafe globfree(&found) }
    guard unsafe glob(pattern, 0, nil, &found) == 0 else { return [] }
    let paths = unsafe (0..<Int(found.gl_pathc)).compactMap { index in
      unsafe found.gl_pathv[index].map { unsafe String(cString: $0) }
    }
    return FileNames.sorted(paths) { $0.utf8 }
  }
}
