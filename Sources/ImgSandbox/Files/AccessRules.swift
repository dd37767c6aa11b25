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
