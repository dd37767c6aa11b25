internal import ImgModel
internal import ImgSystem

/// The hosts that are asked without a proxy, matched as libcurl 7.88 matches NO_PROXY
/// (Curl_check_noproxy in its noproxy.c).
struct DirectHosts {
  private var includesAll = false
  /// In lower case and without dots at their ends.
  private var names: [String] = []
  private var networks: [NetworkRange] = []

  init(_ entries: [String]) {
    if entries == ["*"] { includesAll = true }
    for entry in entries {
      if let network = Self.network(entry) {
        networks.append(network)
      } else {
        names.append(Self.name(entry.lowercased()))
      }
    }
  }

  /// - Parameter host: see ``ImageURL/host``.
  func contains(_ host: String) -> Bool {
    if includesAll { return true }
    if let address = Self.address(host) { return networks.contains { $0.contains(address) } }
    return names.contains { name in
      host == name || !name.isEmpty && host.hasSuffix(".\(name)")
    }
  }

  /// `nil` for what is neither an address nor a block of addresses.
  private static func network(_ entry: String) -> NetworkRange? {
    let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let bytes = address(String(parts[0])) else { return nil }
    guard parts.count == 2 else {
      return NetworkRange(bytes: bytes, prefixLength: bytes.count * 8)
    }
    return Int(parts[1]).flatMap { NetworkRange(bytes: bytes, prefixLength: $0) }
  }

  /// An IPv6 address may have brackets.
  private static func address(_ text: String) -> [UInt8]? {
    let isLiteral = text.hasPrefix("[") && text.hasSuffix("]")
    return IPAddress.bytes(parsing: isLiteral ? String(text.dropFirst().dropLast()) : text)
  }

  /// A dot before a name means nothing, and one after it makes it fully qualified.
  private static func name(_ entry: String) -> String {
    let bare = entry.hasPrefix(".") ? entry.dropFirst() : entry[...]
    return String(bare.hasSuffix(".") ? bare.dropLast() : bare)
  }
}
