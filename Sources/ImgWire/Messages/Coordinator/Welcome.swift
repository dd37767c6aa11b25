package import ImgModel

/// The settings that a worker starts with.
package struct Welcome: Hashable, Sendable, Codable {
  package let hello: Hello
  package let limits: Limits
  /// The store's directory.
  package let storeDirectory: String
  /// The networks with non-public addresses that the worker may fetch from.
  package let allowedNetworks: [NetworkRange]
  /// The absolute paths of directories whose files `file:` URLs may name.
  package let allowedDirectories: [String]
  /// A PEM file of the trusted certificate authorities; `nil` for those of the system.
  package let authorityFile: String?
  /// The proxies, with their credentials.
  package let proxies: ProxySettings
  /// Whether a worker refuses to start if a part of a sandbox is missing.
  package let requiresSandbox: Bool

  package init(
    hello: Hello, limits: Limits, storeDirectory: String, allowedNetworks: [NetworkRange],
    allowedDirectories: [String] = [], authorityFile: String? = nil,
    proxies: ProxySettings = .none, requiresSandbox: Bool = false
  ) {
    self.hello = hello
    self.limits = limits
    self.storeDirectory = storeDirectory
    self.allowedNetworks = allowedNetworks
    self.allowedDirectories = allowedDirectories
    self.authorityFile = authorityFile
    self.proxies = proxies
    self.requiresSandbox = requiresSandbox
  }

  private enum CodingKeys: String, CodingKey {
    case hello
    case limits
    case storeDirectory = "store_directory"
    case allowedNetworks = "allowed_networks"
    case allowedDirectories = "allowed_directories"
    case authorityFile = "ca_file"
    case proxies = "proxy"
    case requiresSandbox = "require_sandbox"
  }
}
