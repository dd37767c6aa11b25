/// The directives of a response's Cache-Control that concern a private cache (RFC 9111 section
/// 5.2.2, RFC 5861). Others, such as `s-maxage` and `public`, are for caches that several users
/// share.
struct CacheControl: Equatable {
  /// A number of seconds as a directive gives it.
  enum Seconds: Equatable {
    case absent
    case given(Int64)
    /// No number, or several that differ: the response counts as stale (section 4.2.1).
    case invalid
  }

  private(set) var maxAge = Seconds.absent
  private(set) var staleWhileRevalidate = Seconds.absent
  private(set) var staleIfError = Seconds.absent
  /// Also where it names fields: nothing of a response is used without them.
  private(set) var isNoCache = false
  private(set) var mustRevalidate = false
  private var isNoStore = false
  private var mustUnderstand = false
  /// Whether a directive breaks the grammar. Those after it are not read.
  private(set) var isBroken = false

  /// Whether the origin forbids storing the response. A cache that understands the status code
  /// obeys `must-understand` instead (section 5.2.2.3).
  var forbidsStoring: Bool { isNoStore && !mustUnderstand }

  /// - Parameter text: the values of all its field lines, joined by commas.
  init(_ text: String) {
    for member in FieldList.members(of: text) where !member.isEmpty {
      guard let directive = Directive(member) else {
        isBroken = true
        // It may be in what could not be read.
        if text.lowercased().contains("no-store") { isNoStore = true }
        return
      }
      take(directive)
    }
  }

  private mutating func take(_ directive: Directive) {
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
  /// Larger numbers count as this one (RFC 9111 section 1.2.2).
  private static let maximum: Int64 = 1 << 31

  /// Combines what the field says so far with a further directive of the same name.
  fileprivate mutating func take(_ argument: String?) {
    let taken = argument.map(Self.init) ?? .invalid
    self = self == .absent || self == taken ? taken : .invalid
  }

  /// Reads `delta-seconds`.
  init(_ text: String) {
    self =
      text.isDigits ? .given(min(Int64(text) ?? Self.maximum, Self.maximum)) : .invalid
  }

  /// 0 where no number is given.
  var duration: Duration {
    if case .given(let seconds) = self { .seconds(seconds) } else { .zero }
  }
}

/// A directive: a token and perhaps an argument, which may be quoted (RFC 9110 sections 5.6.2 to
/// 5.6.4).
private struct Directive {
  /// In lower case.
  let name: String
  let argument: String?

  /// - Returns: `nil` for text that breaks the grammar.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    name = Self.takeToken(&rest).lowercased()
    guard !name.isEmpty else { return nil }
    guard rest.popFirst(UInt8(ascii: "=")) else {
      argument = nil
      guard rest.isEmpty else { return nil }
      return
    }
    let isQuoted = rest.popFirst(UInt8(ascii: "\""))
    argument = isQuoted ? Self.takeQuoted(&rest) : Self.takeToken(&rest)
    guard argument != nil, rest.isEmpty else { return nil }
  }

  private static func takeToken(_ rest: inout ArraySlice<UInt8>) -> String {
    let token = rest.prefix { !" \t,;=\"".utf8.contains($0) }
    rest = rest.dropFirst(token.count)
    return String(decoding: token, as: UTF8.self)
  }

  /// After the first quotation mark; `nil` when there is no last one.
  private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> String? {
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
}

extension ArraySlice<UInt8> {
  /// Removes the first byte if it is that one.
  fileprivate mutating func popFirst(_ byte: UInt8) -> Bool {
    guard first == byte else { return false }
    removeFirst()
    return true
  }
}
