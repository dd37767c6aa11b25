import ImgHTTP

/// Which host names a gateway answers to.
///
/// A page of another site can make a browser send requests to this machine, under a name of its own that
/// leads here (DNS rebinding). Such requests are refused where only this machine can connect: there, the name
/// in a request is one of this machine. They are refused where the gallery is, too. No foreign site has the name
/// localhost or an address as its name. ``PageGuard`` decides about pages.
struct HostGuard: Sendable {
  /// In lower case; `nil` for every name.
  private let names: Set<String>?
  /// Whether addresses count that are not of loopback.
  private let permitsAddresses: Bool

  /// - Parameters:
  ///   - names: further names. A gateway that other machines reach answers to every name if there is none and
  ///     it has no gallery.
  ///   - isLocal: whether only this machine can connect.
  init(names: [String], isLocal: Bool, hasGallery: Bool) {
    let given = Set(names.map { $0.lowercased() })
    let own: Set = ["localhost", "[::1]"]
    permitsAddresses = !isLocal
    self.names = isLocal || hasGallery || !given.isEmpty ? own.union(given) : nil
  }

  /// The code of a rejection because of the host name.
  static let unknownHostCode = "unknown_host"

  /// - Throws: ``RequestRejection`` with status 403.
  func check(_ request: HTTPRequest) throws(RequestRejection) {
    // HTTP/1.0 has no such field, and a browser always sends it.
    if let host = request.fields["Host"], !permits(host) {
      throw RequestRejection(
        .forbidden, code: Self.unknownHostCode,
        "the server does not answer to the host name of the request; use the name or the address that "
          + "it was started with")
    }
  }

  private func permits(_ host: String) -> Bool {
    guard let names else { return true }
    let name = Self.name(of: host)
    return permits(address: name.utf8) || names.contains(name.lowercased())
  }

  /// Whether a name is an address that counts. Those of 127.0.0.0/8 (RFC 6890) always do.
  private func permits(address name: Substring.UTF8View) -> Bool {
    guard permitsAddresses || name.starts(with: "127.".utf8) else { return false }
    return Self.isIPv4(name) || Self.isBracketed(name)
  }

  /// Whether a name is in brackets, as IPv6 addresses are (RFC 3986, section 3.2.2), and no host name.
  private static func isBracketed(_ name: Substring.UTF8View) -> Bool {
    name.first == UInt8(ascii: "[") && name.last == UInt8(ascii: "]")
  }

  /// Every request asks this, so it makes no copies.
  private static func isIPv4(_ name: Substring.UTF8View) -> Bool {
    var dotCount = 0
    var number: UInt16?
    for byte in name {
      if byte == UInt8(ascii: "."), number != nil {
        dotCount += 1
        number = nil
      } else if byte.isDigit {
        let next = (number ?? 0) * 10 + UInt16(byte - UInt8(ascii: "0"))
        guard next <= 255 else { return false }
        number = next
      } else {
        return false
      }
    }
    return dotCount == 3 && number != nil
  }

  /// The name in a `Host` field, without its port.
  private static func name(of host: String) -> Substring {
    guard let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")),
      host.utf8[colon...].dropFirst().allSatisfy(\.isDigit)
    else { return host[...] }
    return host[..<colon]
  }
}
