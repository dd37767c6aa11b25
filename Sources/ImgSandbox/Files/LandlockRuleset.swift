import CLinux
import Glibc
import ImgSystem

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
