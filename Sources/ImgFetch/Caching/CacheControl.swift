import ImgModel

/// The directives of an answer's Cache-Control that concern a private cache (RFC 9111 section
/// 5.2.2, RFC 5861). Others, such as `s-maxage` and `public`, are for caches that several users
/// share.
struct CacheControl: Equatable {
  /// A number of seconds as a directive gives it.
  enum Seconds: Equatable {
    case absent
    case given(Int64)
    /// No number, or several that differ: the answer is taken for stale (section 4.2.1).
    case invalid
  }

  private(set) var maxAge = Seconds.absent
  private(set) var staleWhileRevalidate = Seconds.absent
  private(set) var staleIfError = Seconds.absent
  /// Also where it names fields: nothing of an answer is used without them.
  private(set) var isNoCache = false
  private(set) var mustRevalidate = false
  private var isNoStore = false
  private var mustUnderstand = false
  /// Whether the field cannot be read to its end.
  private(set) var isBroken = false

  /// Whether the origin wants the answer not to be stored. Who understands its status code goes by
  /// `must-understand` instead (section 5.2.2.3).
  var forbidsStoring: Bool { isNoStore && !mustUnderstand }

  /// - Parameter text: the values of all its field lines, with commas between them.
  init(_ text: String) {
    var reader = DirectiveReader(text)
    while let directive = reader.next() { take(directive) }
    isBroken = reader.isBroken
    // It may be in what could not be read.
    if isBroken, text.lowercased().contains("no-store") { isNoStore = true }
  }

  private mutating func take(_ directive: DirectiveReader.Directive) {
    switch directive.name {
    case "max-age": maxAge.take(directive.argument)
    case "stale-while-revalidate": staleWhileRevalidate.take(directive.argument)
    case "stale-if-error": staleIfError.take(directive.argument)
    case "no-cache": isNoCache = true
    case "no-store": isNoStore = true
    case "must-revalidate": mustRevalidate = true
    case "must-understand": mustUnderstand = true
    default: break
    }
  }
}

extension CacheControl.Seconds {
  /// More seconds than this count as this many (RFC 9111 section 1.2.2).
  private static let most: Int64 = 1 << 31

  /// What the header field says, or a further directive of the same name.
  fileprivate mutating func take(_ argument: String?) {
    let taken = argument.map(Self.init) ?? .invalid
    self = self == .absent || self == taken ? taken : .invalid
  }

  /// Reads `delta-seconds`.
  init(_ text: String) {
    let digits = text.utf8
    guard !digits.isEmpty,
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else {
      self = .invalid
      return
    }
    self = .given(min(Int64(text) ?? Self.most, Self.most))
  }

  /// 0 where nothing sensible is given.
  var milliseconds: Int64 {
    if case .given(let seconds) = self { seconds * 1_000 } else { 0 }
  }
}

/// Takes a Cache-Control apart: directives with commas between them, of which empty ones do not
/// count, each a token and perhaps an argument, which may be quoted (RFC 9110 sections 5.6.1 to
/// 5.6.4).
private struct DirectiveReader {
  struct Directive {
    /// In lower case.
    let name: String
    let argument: String?
  }

  private var rest: ArraySlice<UInt8>
  private(set) var isBroken = false

  init(_ text: String) {
    rest = Array(text.utf8)[...]
  }

  /// - Returns: `nil` at the end, or where it cannot be read on.
  mutating func next() -> Directive? {
    repeat { skipBlanks() } while take(",")
    guard !rest.isEmpty else { return nil }
    let name = takeToken()
    guard !name.isEmpty else { return giveUp() }
    var argument: String?
    if take("=") {
      guard let taken = take("\"") ? takeQuoted() : takeToken() else { return giveUp() }
      argument = taken
    }
    skipBlanks()
    guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return giveUp() }
    return Directive(name: name.lowercased(), argument: argument)
  }

  private mutating func giveUp() -> Directive? {
    isBroken = true
    return nil
  }

  private mutating func takeToken() -> String {
    let token = rest.prefix { !" \t,;=\"".utf8.contains($0) }
    rest = rest.dropFirst(token.count)
    return String(decoding: token, as: UTF8.self)
  }

  /// Behind the first quotation mark; `nil` when there is no last one.
  private mutating func takeQuoted() -> String? {
    var text: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      guard let escaped = rest.popFirst() else { return nil }
      text.append(escaped)
    }
    return nil
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  private mutating func skipBlanks() {
    rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
  }
}
