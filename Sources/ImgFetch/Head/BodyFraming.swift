/// Where the body of a response ends, by its head (RFC 9112 section 6.3).
///
/// libcurl takes more than that allows: the last of two lengths, a length with anything after it,
/// and compressed transfer codings. It would then read another body than the origin sent, or one
/// that it has to hold in memory as it inflates, even while the transfer is paused.
struct BodyFraming: Equatable {
  /// Why the end of a body is not known.
  struct Problem: Equatable {
    let detail: String
    /// Whether the origin is likely to do it again.
    let isLasting: Bool
  }

  private let lengths: Set<Int>
  private let invalidLength: String?
  /// In lower case, without those that do nothing.
  private let transferCodings: [String]

  /// - Parameters:
  ///   - contentLengths: the members of all `Content-Length` fields. The same length may be there
  ///     more than once; one that is too long for a number is the greatest.
  ///   - transferCodings: the members of all `Transfer-Encoding` fields.
  init(contentLengths: [String], transferCodings: [String]) {
    lengths = Set(contentLengths.filter(\.isDigits).map { Int($0) ?? .max })
    invalidLength = contentLengths.last { !$0.isDigits }
    self.transferCodings = transferCodings.map { $0.lowercased() }
      .filter { !$0.isEmpty && $0 != "identity" }
  }

  /// The declared length of the body; `nil` when there is none, or none that can be believed. A
  /// hint for reserving memory: libcurl checks that the length is kept.
  var contentLength: Int? {
    guard transferCodings.isEmpty, problem == nil, let length = lengths.first else { return nil }
    return length == .max ? nil : length
  }

  /// Whether the head says where the body ends. Otherwise it ends with its connection, and a body
  /// that broke off looks like a whole one.
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
}
