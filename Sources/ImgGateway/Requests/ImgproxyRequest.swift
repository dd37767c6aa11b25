import ImgHTTP
import ImgModel
package import ImgSettings

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
    let written = PathAddress(source)
    if !written.isPlain, let reason = ForeignPath(signature: signature, source: source).rejection {
      throw reason
    }
    guard let address = written.parts.first, !address.isEmpty else {
      throw .invalidURL("the address of the picture is missing; end the path with /plain/https://…")
    }
    guard written.parts.count <= 2 else {
      throw written.isPlain
        ? .invalidURL("the address has several @; write %40 for an @ in it")
        : unreadableAddress
    }
    let format = try written.parts.count == 2 ? EscapedText.decoded(written.parts[1]) : ""
    let url =
      try written.isPlain
      ? PathAddress.restoringSlash(in: EscapedText.decoded(address)) : decoded(address)
    return (url, format.isEmpty ? nil : format)
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
    guard let text = PathAddress.decoded(address) else { throw unreadableAddress }
    return text
  }
}

/// Named lists of options in imgproxy's notation, from the configuration: `sharp=sh:0.7/q:90`.
///
/// The preset `default` applies to every request of imgproxy's form, before the options of its path.
package struct ImgproxyPresets: Hashable, Sendable {
  private var presets: [String: [ImgproxyOption]] = [:]

  static let defaultName = "default"

  package init() {}

  /// - Parameter definitions: a name, `=`, and options with slashes between them. Of two definitions of one
  ///   name, the last one counts.
  /// - Throws: the reason for the first definition that cannot be applied.
  package init(parsing definitions: [String]) throws(InvalidValue) {
    for definition in definitions {
      let (name, options) = try Self.parts(of: definition)
      presets[name] = options
    }
    // A preset may use one that is defined after it.
    for name in presets.keys.sorted() { try check(name) }
  }

  subscript(name: String) -> [ImgproxyOption]? { presets[name] }

  private static func parts(
    of definition: String
  ) throws(InvalidValue) -> (String, [ImgproxyOption]) {
    let sides = definition.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let segments = sides.count == 2 ? sides[1].split(separator: "/") : []
    guard !sides[0].isEmpty, !segments.isEmpty, segments.allSatisfy({ $0.contains(":") }) else {
      throw InvalidValue(
        "\(Spelling.quoted(definition)) is not a preset; write a name and options, such as "
          + "sharp=sh:0.7/q:90")
    }
    do throws(RequestRejection) {
      var options: [ImgproxyOption] = []
      for segment in segments { options.append(try ImgproxyOption(segment)) }
      return (String(sides[0]), options)
    } catch {
      throw InvalidValue("\(Spelling.quoted(definition)) is not a preset: \(error.message)")
    }
  }

  private func check(_ name: String) throws(InvalidValue) {
    do throws(RequestRejection) {
      // A preset that expires is checked as if it had not yet.
      var options = ImgproxyOptions(presets: self, now: .distantPast)
      try options.applyPreset(name)
      _ = try options.variant()
    } catch {
      throw InvalidValue(
        "has the preset \(Spelling.quoted(name)), which is wrong: \(error.message)")
    }
  }
}

/// Reads paths of imgproxy, `/{signature}/rs:fill:300:200/plain/{URL}@webp` and
/// `/{signature}/rs:fill:300:200/{base64}.webp`.
enum ImgproxyRequest {
  /// - Parameter now: decides whether the request has expired.
  /// - Throws: 400 for a path that cannot be read and for an address that is no URL; 404 for an expired
  ///   request; 422 for an option.
  static func query(
    _ path: ImgproxyPath, presets: ImgproxyPresets, now: WallTime
  ) throws(RequestRejection) -> ImageQuery {
    var options = ImgproxyOptions(presets: presets, now: now)
    if presets[ImgproxyPresets.defaultName] != nil {
      try options.applyPreset(ImgproxyPresets.defaultName)
    }
    try options.apply(try path.parsedOptions())
    let (address, format) = try path.address()
    if let format { try options.applyExtension(format) }
    return try options.query(SourceAddress.url(address))
  }
}

/// A path that has no address where imgproxy's paths have one: of another form of imgproxy, or of another server.
/// What stands there tells which, so that the answer can name it.
struct ForeignPath {
  let signature: String
  /// The segments where an address should be.
  let source: ArraySlice<Substring>

  /// Names that the deprecated form of imgproxy's paths begins with.
  private static let deprecatedTypes: Set<Substring> = [
    "fit", "fill", "fill-down", "force", "auto",
  ]

  /// `nil` for a path that may end with an address in base64.
  var rejection: RequestRejection? {
    guard let first = source.first else { return nil }
    if first == "enc" {
      return .unsupportedForm(
        "encrypted addresses of pictures, /enc/…, are not supported; write /plain/ and the address")
    }
    if source.contains("-") {
      return .unsupportedForm(
        "chained pipelines, /-/, are not supported; write the options of one")
    }
    if signature == "info", source.contains("plain") {
      return .unsupportedForm(
        "the endpoint /info is not supported; leave /info out for the picture")
    }
    if Self.deprecatedTypes.contains(first) {
      return .malformedTarget(
        "this form of imgproxy's paths is deprecated; write /rs:fill:300:200/ for /fill/300/200/")
    }
    guard source.dropLast().contains("plain") else { return nil }
    guard !first.isEmpty else {
      return .malformedTarget("the path has two slashes before /plain/; write one")
    }
    return .malformedTarget(
      "\(Spelling.quoted(String(first))) before /plain/ is no option: an option has colons, such as "
        + "rs:fit:300:200, and a preset is written pr:NAME")
  }
}

extension RequestRejection {
  fileprivate static func unsupportedForm(_ message: String) -> RequestRejection {
    RequestRejection(.unprocessableContent, code: "unsupported_option", message)
  }
}
