import Glibc

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
    guard linkCount <= Self.maximumLinkCount else { throw refusal("follow \(path)", ELOOP) }
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
    guard status.isDirectory else { throw refusal("use \(path) as a directory", ENOTDIR) }
    return status
  }

  private func isTrusted(_ status: FileStatus) -> Bool { trustedUsers.contains(status.userID) }

  private func foreign(_ status: FileStatus) -> SystemError {
    refusal("use \(path), which belongs to user \(status.userID)")
  }

  private func writable(_ status: FileStatus) -> SystemError {
    let mode = String(status.permissions, radix: 8)
    return refusal(
      "use \(path), which other users may write (mode \(mode)); run chmod go-w \(path)")
  }

  private func refusal(_ operation: String, _ code: CInt = EPERM) -> SystemError {
    SystemError(operation: operation, code: code)
  }
}
