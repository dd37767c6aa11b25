/// Where the gateway listens: `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/imgctl/gateway.sock`.
package struct ListenAddress: Hashable, Sendable {
  package enum Place: Hashable, Sendable {
    /// An IP address in its text form, and a port; 0 for any free one.
    case internet(host: String, port: UInt16)
    case unix(path: String)
  }

  package let place: Place

  package static let standard = ListenAddress(.internet(host: "127.0.0.1", port: 8080))

  package init(_ place: Place) {
    self.place = place
  }

  package init(parsing text: String) throws(InvalidValue) {
    let scheme = "unix:"
    if text.hasPrefix(scheme) {
      let path = String(text.dropFirst(scheme.count))
      guard path.hasPrefix("/"), path.utf8.count <= Settings.maximumSocketPathByteCount else {
        throw InvalidValue(
          "the path of a socket is absolute and has at most "
            + "\(Settings.maximumSocketPathByteCount) bytes, as in unix:/run/imgctl/gateway.sock")
      }
      place = .unix(path: path)
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { throw Self.invalid(text) }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw Self.invalid(text)
    }
    place = .internet(host: host == "localhost" ? "127.0.0.1" : String(host), port: port)
    guard !host.isEmpty else { throw Self.invalid(text) }
  }

  private static func invalid(_ text: String) -> InvalidValue {
    InvalidValue(
      "\(Spelling.quoted(text)) is no address with a port, such as 127.0.0.1:8080, [::1]:8080 or "
        + "unix:/run/imgctl/gateway.sock")
  }
}
