package import ImgModel

/// What a worker needs to know before it takes work.
package struct Welcome: Hashable, Sendable, Codable {
  package let hello: Hello
  package let limits: Limits
  /// The directory of the shared store.
  package let storeDirectory: String
  /// Blocks of addresses that may be fetched from although they are not public.
  package let allowedNetworks: [NetworkRange]
  /// Directories below which files may be read that `file:` URLs name; absolute.
  package let allowedDirectories: [String]
  /// Certificates of the authorities to trust, as PEM; `nil` for those of the system.
  package let authorityFile: String?

  package init(
    hello: Hello, limits: Limits, storeDirectory: String, allowedNetworks: [NetworkRange],
    allowedDirectories: [String] = [], authorityFile: String? = nil
  ) {
    self.hello = hello
    self.limits = limits
    self.storeDirectory = storeDirectory
    self.allowedNetworks = allowedNetworks
    self.allowedDirectories = allowedDirectories
    self.authorityFile = authorityFile
  }

  private enum CodingKeys: String, CodingKey {
    case hello
    case limits
    case storeDirectory = "store_directory"
    case allowedNetworks = "allowed_networks"
    case allowedDirectories = "allowed_directories"
    case authorityFile = "ca_file"
  }
}
