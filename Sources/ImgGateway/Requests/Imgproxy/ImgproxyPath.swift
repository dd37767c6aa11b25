import ImgHTTP

/// A path of imgproxy: a signature, options, and the address of a picture.
struct ImgproxyPath {
  let signature: String
  /// What may be signed: the path after the signature, from the slash on, as sent, and as a client wrote it
  /// before a proxy changed it.
  let signedTexts: [String]
  /// As sent, one a segment.
  private let options: ArraySlice<Substring>
  /// The segments of the address.
  private let source: ArraySlice<Substring>

  /// Segments that an address begins with if /plain/ is missing before it.
  private static let schemes: Set<Substring> = ["http:", "https:"]

  /// - Throws: 404 for a path that is none of imgproxy's.
  init(_ target: RequestTarget) throws(RequestRejection) {
    let segments = target.segments[...]
    guard segments.count >= 2, !segments[0].isEmpty else {
      throw .notFound(
        "there is nothing at this path; pictures are at /image?url=… and /unsafe/rs:fit:300:200/plain/…"
      )
    }
    signature = String(segments[0])
    signedTexts = Self.signedTexts(String(target.path.dropFirst(signature.count + 1)))
    options = segments.dropFirst().prefix {
      $0 != "plain" && EscapedText.hasColon($0) && !Self.schemes.contains($0)
    }
    source = segments.dropFirst(1 + options.count)
  }

  /// - Parameter text: as sent.
  private static func signedTexts(_ text: String) -> [String] {
    var texts = [text]
    for repaired in [restoringSlashes(in: text), EscapedText.restoringColons(in: text)] {
      for candidate in [repaired, restoringSlashes(in: repaired)]
      where !texts.contains(candidate) {
        texts.append(candidate)
      }
    }
    return texts
  }

  /// Puts back the second slash after the scheme of a plain address. Some proxies merge the two.
  private static func restoringSlashes(in text: String) -> String {
    var segments = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let plain = segments.firstIndex(of: "plain"), plain + 2 < segments.count,
      schemes.contains(segments[plain + 1]), !segments[plain + 2].isEmpty
    else { return text }
    segments.insert("", at: plain + 2)
    return segments.joined(separator: "/")
  }

  /// The options, in their order.
  func parsedOptions() throws(RequestRejection) -> [ImgproxyOption] {
    var parsed: [ImgproxyOption] = []
    for option in options { parsed.append(try ImgproxyOption(option)) }
    return parsed
  }

  /// The address of the picture, decoded, and the extension that asks for a format; `nil` without one.
  func address() throws(RequestRejection) -> (url: String, format: String?) {
    let isPlain = source.first == "plain" && source.count > 1
    if !isPlain, let reason = ForeignPath(signature: signature, source: source).rejection {
      throw reason
    }
    let written = isPlain ? source.dropFirst().joined(separator: "/") : source.joined()
    let parts = written.split(
      separator: isPlain ? "@" : ".", omittingEmptySubsequences: false)
    guard let address = parts.first, !address.isEmpty else {
      throw .invalidURL("the address of the picture is missing; end the path with /plain/https://…")
    }
    guard parts.count <= 2 else {
      throw isPlain
        ? .invalidURL("the address has several @; write %40 for an @ in it")
        : unreadableAddress
    }
    let format = try parts.count == 2 ? EscapedText.decoded(parts[1]) : ""
    let url = try isPlain ? plainAddress(address) : decoded(address)
    return (url, format.isEmpty ? nil : format)
  }

  private func plainAddress(_ text: Substring) throws(RequestRejection) -> String {
    let address = try EscapedText.decoded(text)
    // One slash is what a proxy has left of two.
    for scheme in Self.schemes where address.hasPrefix("\(scheme)/") {
      let rest = address.dropFirst(scheme.count + 1)
      if rest.first != "/" { return "\(scheme)//\(rest)" }
    }
    return address
  }

  private var unreadableAddress: RequestRejection {
    guard let name = fileName else { return Self.unreadableAddress }
    return .invalidURL(
      "the address ends with a name of a file, \(name), which is not supported; leave it out, and write "
        + "fn: for the name under which browsers save the picture")
  }

  /// The last segment, if the ones before it are an address: imgproxy can ignore a name there.
  private var fileName: Substring? {
    guard source.count > 1, let last = source.last,
      let bytes = Base64URL.decoded(source.dropLast().joined()),
      String(validating: bytes, as: UTF8.self)?.contains("://") == true
    else { return nil }
    return last.prefix(64)
  }

  private static let unreadableAddress = RequestRejection.invalidURL(
    "the address is not in base64 for URLs; write /plain/ before one that is not encoded, such as "
      + "/unsafe/rs:fill:300:200/plain/https://example.org/a.jpg")

  private func decoded(_ address: Substring) throws(RequestRejection) -> String {
    guard let bytes = Base64URL.decoded(address), !bytes.contains(0),
      let text = String(validating: bytes, as: UTF8.self)
    else {
      throw unreadableAddress
    }
    return text
  }
}
