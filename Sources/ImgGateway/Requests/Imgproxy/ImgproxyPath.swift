import ImgHTTP

/// A path of imgproxy: a signature, options, and the address of a picture.
struct ImgproxyPath {
  let signature: String
  /// What is signed: the path after the signature, from the slash on.
  let signedText: String
  /// As sent, one a segment.
  private let options: ArraySlice<Substring>
  /// The segments of the address.
  private let source: ArraySlice<Substring>

  /// Segments that an address begins with if /plain/ is missing before it.
  private static let schemes: Set<Substring> = ["http:", "https:"]

  /// Names that the deprecated form of imgproxy's paths begins with.
  private static let deprecatedTypes: Set<Substring> = [
    "fit", "fill", "fill-down", "force", "auto",
  ]

  /// - Throws: 404 for a path that is none of imgproxy's.
  init(_ target: RequestTarget) throws(RequestRejection) {
    let segments = target.segments[...]
    guard segments.count >= 2, !segments[0].isEmpty else {
      throw .notFound(
        "there is nothing at this path; pictures are at /image?url=… and /unsafe/rs:fit:300:200/plain/…"
      )
    }
    signature = String(segments[0])
    signedText = String(target.path.dropFirst(signature.count + 1))
    options = segments.dropFirst().prefix { $0.contains(":") && !Self.schemes.contains($0) }
    source = segments.dropFirst(1 + options.count)
  }

  /// The options, in their order.
  func parsedOptions() throws(RequestRejection) -> [ImgproxyOption] {
    if options.isEmpty, let first = source.first, Self.deprecatedTypes.contains(first) {
      throw .malformedTarget(
        "this form of imgproxy's paths is deprecated; write /rs:fill:300:200/ for /fill/300/200/")
    }
    var parsed: [ImgproxyOption] = []
    for option in options { parsed.append(try ImgproxyOption(option)) }
    return parsed
  }

  /// The address of the picture, decoded, and the extension that asks for a format; `nil` without one.
  func address() throws(RequestRejection) -> (url: String, format: String?) {
    if source.first == "enc" { throw Self.encryptedAddress }
    let isPlain = source.first == "plain" && source.count > 1
    let written = isPlain ? source.dropFirst().joined(separator: "/") : source.joined()
    let parts = written.split(
      separator: isPlain ? "@" : ".", omittingEmptySubsequences: false)
    guard let address = parts.first, !address.isEmpty else {
      throw .invalidURL("the address of the picture is missing; end the path with /plain/https://…")
    }
    guard parts.count <= 2 else {
      throw isPlain
        ? .invalidURL("the address has several @; write %40 for an @ in it")
        : Self.unreadableAddress
    }
    let format = try parts.count == 2 ? EscapedText.decoded(parts[1]) : ""
    let url = try isPlain ? EscapedText.decoded(address) : Self.decoded(address)
    return (url, format.isEmpty ? nil : format)
  }

  private static let encryptedAddress = RequestRejection(
    .unprocessableContent, code: "unsupported_option",
    "encrypted addresses of pictures, /enc/…, are not supported; write /plain/ and the address")

  private static let unreadableAddress = RequestRejection.invalidURL(
    "the address is not in base64 for URLs; write /plain/ before one that is not encoded, such as "
      + "/unsafe/rs:fill:300:200/plain/https://example.org/a.jpg")

  private static func decoded(_ address: Substring) throws(RequestRejection) -> String {
    guard let bytes = Base64URL.decoded(address), !bytes.contains(0),
      let text = String(validating: bytes, as: UTF8.self)
    else {
      throw unreadableAddress
    }
    return text
  }
}
