/// What a coordinator runs with beside its limits, its socket and its data directory.
package struct CoordinatorSettings: Hashable, Sendable, Codable {
  /// The program of its workers.
  package let workerExecutable: String
  /// How long it stays without clients and jobs; `nil` for ever.
  package let idleExitMilliseconds: Int64?
  /// Networks that may be fetched from although their addresses are not public, in CIDR notation.
  package let allowedNetworks: [String]
  /// Directories below which lists may name files.
  package let allowedDirectories: [String]
  /// The certificates of the authorities that are trusted, a PEM file; `nil` for those of the system.
  package let authorityFile: String?

  package init(
    workerExecutable: String, idleExitMilliseconds: Int64?, allowedNetworks: [String],
    allowedDirectories: [String], authorityFile: String?
  ) {
    self.workerExecutable = workerExecutable
    self.idleExitMilliseconds = idleExitMilliseconds
    self.allowedNetworks = allowedNetworks
    self.allowedDirectories = allowedDirectories
    self.authorityFile = authorityFile
  }

  private enum CodingKeys: String, CodingKey {
    case workerExecutable = "worker_executable"
    case idleExitMilliseconds = "idle_exit_ms"
    case allowedNetworks = "allow_network"
    case allowedDirectories = "allow_directory"
    case authorityFile = "ca_file"
  }
}
