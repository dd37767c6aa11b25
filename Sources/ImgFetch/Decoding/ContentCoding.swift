/// A content coding that bodies are decoded from (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: String, CaseIterable {
  case gzip, deflate
  case brotli = "br"
  case zstd

  /// - Parameter name: in lower case.
  /// - Returns: `nil` for another coding.
  init?(name: String) {
    // RFC 9110 section 8.4.1.3.
    self.init(rawValue: name == "x-gzip" ? "gzip" : name)
  }

  /// Whether streams may follow each other in one body (RFC 1952 section 2.2, RFC 8878 section 3.1).
  var permitsSeveralStreams: Bool { self == .gzip || self == .zstd }
}

/// What a response says its body is encoded with, by all its `Content-Encoding` fields.
struct ContentCodings: Equatable {
  /// In the order in which they were applied; empty for a body that is the picture itself.
  let applied: [ContentCoding]
  /// Why the body cannot be decoded; `nil` if it can.
  let problem: String?

  /// More would be an attempt to keep this side busy.
  static let maximumCount = 3

  /// What origins write for a body that is not encoded: what RFC 9110 section 12.5.3 calls it, what
  /// libcurl takes for the same, the coding of an upload that Amazon S3 repeats after it has removed it,
  /// and names of what is no coding of a picture.
  private static let namesOfNone: Set = ["", "identity", "none", "aws-chunked", "binary", "utf-8"]

  /// - Parameter members: of all the fields, in their order.
  init(_ members: [String]) {
    let names = members.map { $0.lowercased() }.filter { !Self.namesOfNone.contains($0) }
    applied = names.compactMap(ContentCoding.init(name:))
    if let unknown = names.first(where: { ContentCoding(name: $0) == nil }) {
      let known = ContentCoding.allCases.map(\.rawValue).joined(separator: ", ")
      problem = "Content-Encoding: \(unknown) is not known; \(known) are decoded"
    } else if names.count > Self.maximumCount {
      problem = "Content-Encoding names \(names.count) codings; \(Self.maximumCount) are decoded"
    } else {
      problem = nil
    }
  }

  /// Whether the body is the picture itself.
  var isEmpty: Bool { applied.isEmpty }
}
