import ImgModel

/// Where the body of an answer ends, by its head (RFC 9112 section 6.3).
///
/// libcurl takes more than that allows: the last of two lengths, a length with anything behind it, and
/// compressed transfer codings. What it reads then is another body than the origin sent, or one that
/// it has to hold in memory as it inflates, even while the transfer is paused.
struct BodyFraming: Equatable {
  /// Why the end of a body is not known.
  struct Problem: Equatable {
    let detail: String
    /// Whether an origin that does so is likely to do it again.
    let isLasting: Bool
  }

  private var lengths: Set<Int> = []
  private var invalidLength: String?
  /// In lower case, without those that do nothing.
  private var transferCodings: [String] = []

  /// The declared length of the body; `nil` when there is none, or none that can be believed. A hint
  /// for reserving memory: that the length is kept is libcurl's to check.
  var contentLength: Int? {
    guard transferCodings.isEmpty, problem == nil, let length = lengths.first else { return nil }
    return length == .max ? nil : length
  }

  /// Whether the head says where the body ends. Else it ends with its connection or its stream, and a
  /// body that broke off looks like a whole one.
  var isEndDeclared: Bool { !transferCodings.isEmpty || !lengths.isEmpty }

  /// Why the end of the body is not known; `nil` when it is.
  var problem: Problem? {
    // A length beside a coding does not count.
    if transferCodings == ["chunked"] { return nil }
    guard transferCodings.isEmpty else {
      let codings = transferCodings.joined(separator: ", ")
      return Problem(
        detail: "Transfer-Encoding: \(codings) was not asked for; only chunked is taken",
        isLasting: true)
    }
    if let invalidLength {
      return Problem(detail: "Content-Length: \(invalidLength) is no length", isLasting: false)
    }
    guard lengths.count <= 1 else {
      return Problem(detail: "Content-Length names several lengths", isLasting: false)
    }
    return nil
  }

  /// Takes a field, if it is one that says where the body ends.
  mutating func take(_ field: HeadField) {
    switch field.name {
    case .contentLength: takeLengths(field.value)
    case .transferEncoding:
      transferCodings += Self.members(field.value).map { $0.lowercased() }
        .filter { !$0.isEmpty && $0 != "identity" }
    default: break
    }
  }

  /// The same length may be there more than once; one that is too long for a number is the greatest.
  private mutating func takeLengths(_ value: String) {
    for member in Self.members(value) {
      let isNumber =
        !member.isEmpty
        && member.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      if isNumber { lengths.insert(Int(member) ?? .max) } else { invalidLength = member }
    }
  }

  private static func members(_ value: String) -> [String] {
    value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .map { String(decoding: $0.withoutOuterWhiteSpace, as: UTF8.self) }
  }
}
