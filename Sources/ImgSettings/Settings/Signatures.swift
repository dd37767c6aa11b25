import FoundationEssentials
import ImgCrypto
import ImgModel
import ImgSystem

/// The signatures of requests: what is signed, and which keys sign.
///
/// A signature is base64 for URLs, without padding, of HMAC-SHA256 of the salt and the signed text.
///
/// - imgproxy's paths: the signed text is the path after the signature, from the slash on.
/// - The query form: the signed text is the target as sent, without the parameter `s` and the `&` that
///   separates it. The target `/image?url=a.example%2Fa.jpg&w=300&s=SIGNATURE` has the text
///   `/image?url=a.example%2Fa.jpg&w=300`.
package struct RequestSignatures: Hashable, Sendable {
  /// Any of them may have signed, so that a new key can come before an old one goes.
  package let keys: [SigningKey]
  /// The bytes of a code that a signature has, from the first one on.
  package let byteCount: Int

  /// imgproxy's `IMGPROXY_SIGNATURE_SIZE`.
  package static let byteCountRange = 1...HMACSHA256.byteCount
  /// The parameter of the query form.
  package static let parameterName = "s"

  /// - Parameters:
  ///   - keys: none accepts requests without a signature.
  ///   - byteCount: in ``byteCountRange``.
  package init(keys: [SigningKey] = [], byteCount: Int = HMACSHA256.byteCount) {
    precondition(Self.byteCountRange.contains(byteCount), "a signature has 1 to 32 bytes")
    self.keys = keys
    self.byteCount = byteCount
  }

  /// Whether requests need a signature.
  package var areRequired: Bool { !keys.isEmpty }

  /// The signature of a text by a key.
  package func signature(of text: String, by key: SigningKey) -> String {
    let code = HMACSHA256.code(of: key.salt + Array(text.utf8), key: key.key)
    return Base64URL.encoded(Array(code.prefix(byteCount)))
  }
}

extension RequestSignatures {
  /// What the settings say of signatures.
  ///
  /// - Parameter note: takes a line for the log.
  package init(_ settings: GatewaySettings, note: (String) -> Void) throws(UsageError) {
    let keys = try settings.keyFile.map { path throws(UsageError) in
      try KeyFile.keys(in: path, note: note)
    }
    self.init(keys: keys ?? [], byteCount: settings.signatureByteCount)
  }
}

/// A target of the query form, apart from its signature.
package struct SignedQuery {
  /// What is signed: the target without the parameter of the signature.
  package let text: String
  /// Empty if there is none.
  package let signature: String

  private static let prefix = "\(RequestSignatures.parameterName)="

  /// - Parameters:
  ///   - path: of the target.
  ///   - query: as sent.
  package init(path: String, query: String?) {
    let parts = (query ?? "").split(separator: "&", omittingEmptySubsequences: false)
    let rest = parts.filter { !$0.hasPrefix(Self.prefix) }.joined(separator: "&")
    text = rest.isEmpty ? path : "\(path)?\(rest)"
    signature = String(
      parts.first { $0.hasPrefix(Self.prefix) }?.dropFirst(Self.prefix.count) ?? "")
  }

  /// The target with this signature.
  func target(signedBy signature: String) -> String { "\(text)&\(Self.prefix)\(signature)" }
}

/// A target of a request, with the signature that the gateway requires.
package struct SignedTarget: Hashable, Sendable {
  package let text: String
  package let signature: String

  /// The first words of paths that need no signature.
  private static let unsignedPaths: Set<Substring> = [
    "api", "assets", "health", "id", "metrics", "photo", "ready", "seed", "v2",
  ]
  /// What stands in the place of a signature while there is no key.
  private static let placeholders: Set<Substring> = ["_", "insecure", "unsafe"]

  /// - Parameters:
  ///   - text: a path of imgproxy from its options on, or a target of the query form. A signature that it has, or a word
  ///     in the place of one, is replaced.
  ///   - signatures: the first key signs.
  package init(_ text: String, by signatures: RequestSignatures) throws(InvalidValue) {
    if let fault = Self.fault(in: text) { throw InvalidValue(fault) }
    guard let key = signatures.keys.first else { throw InvalidValue("no key signs it") }
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = String(parts[0])
    if path == "/" || path == "/image" {
      let query = SignedQuery(path: path, query: parts.count == 2 ? String(parts[1]) : nil)
      guard query.text.contains("?url=") || query.text.contains("&url=") else {
        throw InvalidValue("names no picture; write /image?url=https://example.org/a.jpg&w=300")
      }
      signature = signatures.signature(of: query.text, by: key)
      self.text = query.target(signedBy: signature)
      return
    }
    guard parts.count == 1 else {
      throw InvalidValue(
        "this path has no query; write %3F for a question mark in the address of the picture")
    }
    let unsigned = try Self.unsignedPath(path)
    signature = signatures.signature(of: unsigned, by: key)
    self.text = "/\(signature)\(unsigned)"
  }

  /// A path of imgproxy from its options on.
  private static func unsignedPath(_ path: String) throws(InvalidValue) -> String {
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)[...]
    guard let first = segments.first, !first.isEmpty, !unsignedPaths.contains(first) else {
      throw InvalidValue(
        "needs no signature; pictures are at /image?url=… and /rs:fit:300:200/plain/…")
    }
    let rest = segments.dropFirst()
    let candidates: [ArraySlice<Substring>] =
      if placeholders.contains(first) {
        [rest]
      } else if hasColon(first) || first == "plain" {
        [segments]
      } else if rest.contains(where: { $0 == "plain" || hasColon($0) }) {
        [rest]
      } else {
        // A signature looks like the beginning of an address in base64.
        [segments, rest]
      }
    guard let unsigned = candidates.first(where: namesPicture) else {
      throw InvalidValue("names no picture; end it with /plain/https://example.org/a.jpg")
    }
    return "/" + unsigned.joined(separator: "/")
  }

  /// Whether the gateway finds the URL of a picture behind the options of a path.
  private static func namesPicture(_ path: ArraySlice<Substring>) -> Bool {
    let address = PathAddress(path.drop { $0 != "plain" && hasColon($0) })
    guard let url = address.url.flatMap({ try? ImageURL(parsing: $0) }) else { return false }
    return address.parts.count <= 2 && !url.isFile
  }

  /// Whether a segment of a path is an option.
  private static func hasColon(_ segment: Substring) -> Bool {
    segment.contains(":") || segment.lowercased().contains("%3a")
  }

  /// Why a text is no target of a request (RFC 9112, section 3.2.1); `nil` for one that is.
  package static func fault(in text: String) -> String? {
    guard text.utf8.first == UInt8(ascii: "/") else {
      return "the request target must begin with a slash"
    }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "#") }) else {
      return
        "the request target contains #, a space or a control character; escape it: %23 for #, %20 for a "
        + "space"
    }
    return nil
  }

  /// The part of a path that names a picture, as imgproxy reads it.
  ///
  /// - Parameter url: in ASCII.
  package static func plainAddress(_ url: String) -> String {
    let escapes: [Character: String] = ["%": "%25", "?": "%3F", "@": "%40", "#": "%23"]
    return "/plain/" + url.map { escapes[$0] ?? String($0) }.joined()
  }
}

/// The address of a picture at the end of a path of imgproxy: `plain/https://example.org/a.jpg@webp`, or base64 for
/// URLs, which may be divided by slashes, and an extension.
package struct PathAddress {
  package let isPlain: Bool
  /// The address and the format that is asked for, as written. More than two parts are none.
  package let parts: [Substring]

  private static let schemes = ["http:", "https:"]

  /// - Parameter segments: behind the options of the path.
  package init(_ segments: ArraySlice<Substring>) {
    isPlain = segments.first == "plain" && segments.count > 1
    let written = isPlain ? segments.dropFirst().joined(separator: "/") : segments.joined()
    parts = written.split(separator: isPlain ? "@" : ".", omittingEmptySubsequences: false)
  }

  /// The address without escapes; `nil` if it is not text.
  var url: String? {
    guard let address = parts.first else { return nil }
    guard isPlain else { return Self.decoded(address) }
    return String(validating: PercentEncoding.decoded(address.utf8), as: UTF8.self)
      .map(Self.restoringSlash)
  }

  /// The text in base64 for URLs; `nil` if it is none.
  package static func decoded(_ base64: Substring) -> String? {
    guard let bytes = Base64URL.decoded(base64), !bytes.contains(0) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Puts back the second slash after the scheme of an address. Some proxies merge the two.
  package static func restoringSlash(in address: String) -> String {
    for scheme in schemes where address.hasPrefix("\(scheme)/") {
      let rest = address.dropFirst(scheme.count + 1)
      if rest.first != "/" { return "\(scheme)//\(rest)" }
    }
    return address
  }
}

/// A secret that signs requests, with its salt, as imgproxy has them.
package struct SigningKey: Hashable, Sendable {
  package let key: [UInt8]
  package let salt: [UInt8]

  /// - Parameters:
  ///   - key: of at least one byte.
  ///   - salt: may be empty.
  package init(key: [UInt8], salt: [UInt8]) {
    self.key = key
    self.salt = salt
  }

  /// The bytes of a key at least. As many bytes of a signature count at least.
  private static let minimumByteCount = 8

  /// - Parameters:
  ///   - hexadecimalKey: pairs of hexadecimal digits, as of `IMGPROXY_KEY`.
  ///   - hexadecimalSalt: the same, as of `IMGPROXY_SALT`.
  package init(hexadecimalKey: String, hexadecimalSalt: String) throws(InvalidValue) {
    // The texts are secret, so no message shows them.
    guard let key = Self.bytes(hexadecimalKey), !key.isEmpty else {
      throw InvalidValue("is not a key in hexadecimal digits; make one with: openssl rand -hex 32")
    }
    guard key.count >= Self.minimumByteCount else {
      throw InvalidValue(
        "has a key of \(key.count) byte\(key.count == 1 ? "" : "s"), which can be guessed; a key has at "
          + "least \(Self.minimumByteCount). Make one with: openssl rand -hex 32")
    }
    guard let salt = Self.bytes(hexadecimalSalt) else {
      throw InvalidValue("is not a salt in hexadecimal digits; make one with: openssl rand -hex 32")
    }
    self.init(key: key, salt: salt)
  }

  private static func bytes(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: digits.count, by: 2) {
      let pair = digits[start..<start + 2]
      guard pair.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
        let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}

/// The file with the keys of signatures: a key and a salt a line, in hexadecimal digits. Empty lines and lines
/// that begin with `#` do not count.
///
/// All users can read the secrets of Docker (mode 0444) and of Kubernetes (0644) in their container, which often has
/// one user. So such a file is used, as nginx does, with a note for machines that have more users. ssh(1) refuses it,
/// because such machines are its usual place. A file that another user owns or that all users can change is refused:
/// they could sign.
package enum KeyFile {
  private static let maximumByteCount = 65_536
  /// Some editors write it before the text.
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// - Parameter note: takes a line for the log.
  /// - Throws: ``UsageError`` without the content of the file, because that is secret.
  package static func keys(
    in path: String, note: (String) -> Void
  ) throws(UsageError) -> [SigningKey] {
    let (bytes, status): ([UInt8], FileStatus)
    let trustedUsers: TrustedUsers
    do throws(SystemError) {
      trustedUsers = try TrustedUsers()
      let file = try FileIO.open(readingFrom: path)
      status = try FileStatus(of: file.rawValue)
      bytes = try FileIO.contents(of: file.rawValue, named: path, upTo: maximumByteCount)
    } catch {
      throw UsageError("--key-file: \(path) cannot be read: \(error.reason)")
    }
    guard trustedUsers.contains(status.userID) else {
      throw UsageError(
        "--key-file: \(path) belongs to user \(status.userID), who can change it: chown it to the "
          + "user of the gateway or to root")
    }
    guard !status.isWritableByAll else {
      throw UsageError("--key-file: all users can change \(path): chmod 600 \(path)")
    }
    if status.isReadableByAll {
      note("--key-file: all users of this machine can read \(path); chmod 600 makes it private")
    }
    return try keys(of: bytes, in: path, note: note)
  }

  private static func keys(
    of bytes: [UInt8], in path: String, note: (String) -> Void
  ) throws(UsageError) -> [SigningKey] {
    var keys: [SigningKey] = []
    let text = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(byteOrderMark.count) : bytes[...]
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let words = line.split { " \t\r".utf8.contains($0) }
        .map { String(decoding: $0, as: UTF8.self) }
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      do throws(InvalidValue) {
        guard words.count <= 2 else { throw InvalidValue("has more than a key and a salt") }
        if words.count == 1 {
          note(
            "--key-file: line \(index + 1) of \(path) has a key and no salt; signatures of its key are without one"
          )
        }
        keys.append(
          try SigningKey(
            hexadecimalKey: first, hexadecimalSalt: words.count == 2 ? words[1] : ""))
      } catch {
        throw UsageError("--key-file: line \(index + 1) of \(path)", error)
      }
    }
    guard !keys.isEmpty else { throw UsageError("--key-file: \(path) has no key") }
    return keys
  }
}

/// Base64 with the alphabet for URLs (RFC 4648, section 5).
package enum Base64URL {
  /// Without padding.
  package static func encoded(_ bytes: [UInt8]) -> String {
    let text = Data(bytes).base64EncodedString().utf8.prefix { $0 != UInt8(ascii: "=") }
    return String(decoding: text.map { urlAlphabet[$0] ?? $0 }, as: UTF8.self)
  }

  /// - Parameter text: with or without padding.
  /// - Returns: `nil` for other characters, and for a length that no bytes have.
  package static func decoded(_ text: some StringProtocol) -> [UInt8]? {
    let written = Array(text.utf8)
    let digits = written.prefix { $0 != UInt8(ascii: "=") }
    let isPadding = written[digits.count...].allSatisfy { $0 == UInt8(ascii: "=") }
    guard isPadding, written.count - digits.count <= 2,
      !digits.contains(where: { urlAlphabet.keys.contains($0) })
    else { return nil }
    var standard = digits.map { standardAlphabet[$0] ?? $0 }
    while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
    return Data(base64Encoded: Data(standard)).map { Array($0) }
  }

  private static let urlAlphabet: [UInt8: UInt8] = [
    UInt8(ascii: "+"): UInt8(ascii: "-"), UInt8(ascii: "/"): UInt8(ascii: "_"),
  ]
  private static let standardAlphabet: [UInt8: UInt8] = [
    UInt8(ascii: "-"): UInt8(ascii: "+"), UInt8(ascii: "_"): UInt8(ascii: "/"),
  ]
}
