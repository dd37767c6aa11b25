/// The forms of a request target (RFC 9112, section 3.2).
enum TargetForm {
  /// The path and the query of a target, with their escapes.
  ///
  /// - Parameters:
  ///   - target: as sent: such a path, or an absolute URL, which a server must accept (section 3.2.2).
  ///   - host: the Host field. The authority of an absolute URL must equal it.
  static func originForm(of target: [UInt8], host: String?) throws(RequestRefusal) -> String {
    guard target.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw RequestRefusal(.badRequest, "the target has a space or a control character")
    }
    guard let text = String(validating: target, as: UTF8.self) else {
      throw RequestRefusal(.badRequest, "the target is not UTF-8")
    }
    if text.utf8.first == UInt8(ascii: "/") { return text }
    for scheme in ["http://", "https://"] where text.lowercased().hasPrefix(scheme) {
      let rest = text.dropFirst(scheme.count)
      let authority = rest.prefix { $0 != "/" && $0 != "?" }
      guard !authority.isEmpty, authority.lowercased() == host?.lowercased() else {
        throw RequestRefusal(.badRequest, "the target and the Host field name different hosts")
      }
      let path = rest.dropFirst(authority.count)
      return path.first == "/" ? String(path) : "/\(path)"
    }
    throw RequestRefusal(.badRequest, "the target is no path")
  }
}
