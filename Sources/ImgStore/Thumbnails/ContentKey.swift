import ImgCrypto
package import ImgModel

/// A key is 256 bits of BLAKE2b (RFC 7693) over the URL and, for a thumbnail, the variant.
///
/// The hash is cryptographic, so that an attacker cannot choose two URLs that share a thumbnail.
extension ContentKey {
  package static let byteCount = 32

  /// Prefixes that separate the kinds of hashes. A new number makes every stored record of the kind
  /// unreachable.
  private enum Domain {
    static let thumbnail = "imgctl thumbnail 1:"
    static let original = "imgctl original 1:"
    static let partial = "imgctl partial 1:"
    static let headers = "imgctl headers 1:"
    static let facts = "imgctl facts 1:"
    static let allFacts = "imgctl all facts 1:"
    static let pixelFacts = "imgctl pixel facts 1:"
    static let robots = "imgctl robots 1:"
  }

  package init(_ name: PictureName, variant: Variant) {
    self.init(name, variantText: variant.canonicalText)
  }

  /// - Parameter variantText: see `ImageVariant.canonicalText`.
  private init(_ name: PictureName, variantText: String) {
    // URLs contain no NUL, so different pairs of name and variant have different texts.
    var text = Domain.thumbnail
    let nameText = name.recordText
    text.reserveCapacity(text.utf8.count + nameText.utf8.count + 1 + variantText.utf8.count)
    text += nameText
    text += "\0"
    text += variantText
    self.init(hashing: text)
  }

  /// The key of what a request wants to be made: its thumbnail, or the facts of the picture.
  package init(_ name: PictureName, _ request: ThumbnailRequest) {
    if request.keep.isFacts {
      self.init(factsOf: name, request.keep.part)
    } else {
      self.init(name, variant: request.variant)
    }
  }

  /// The keys of all that a request wants to be made: its thumbnails, in the order of its variants, or
  /// the facts of the picture.
  package static func results(
    of name: PictureName, for request: ThumbnailRequest
  ) -> [ContentKey] {
    results(of: [name], for: request)
  }

  /// The same of many pictures, one after the other; each has as many.
  package static func results(
    of names: [PictureName], for request: ThumbnailRequest
  ) -> [ContentKey] {
    guard !request.keep.isFacts else {
      return names.map { ContentKey(factsOf: $0, request.keep.part) }
    }
    let variantTexts = request.variants.map { $0.canonicalText }
    var keys: [ContentKey] = []
    keys.reserveCapacity(names.count * variantTexts.count)
    for name in names {
      for text in variantTexts { keys.append(ContentKey(name, variantText: text)) }
    }
    return keys
  }

  /// The key of the facts of a picture.
  package init(factsOf name: PictureName, _ part: PicturePart) {
    self.init(factsOfRecord: name.recordText, part)
  }

  /// - Parameter text: see `PictureName.recordText`.
  init(factsOfRecord text: String, _ part: PicturePart) {
    let domain =
      switch part {
      case .whole, .facts: Domain.facts
      case .allFacts: Domain.allFacts
      case .wholeOfAnyFormat: Domain.pixelFacts
      }
    self.init(hashing: "\(domain)\(text)")
  }

  /// The key of an original.
  package init(originalOf name: PictureName) {
    self.init(originalOfRecord: name.recordText)
  }

  /// - Parameter text: see `PictureName.recordText`.
  init(originalOfRecord text: String) {
    self.init(hashing: "\(Domain.original)\(text)")
  }

  /// The key of an origin's robots.txt.
  init(robotsOf origin: String) {
    self.init(hashing: "\(Domain.robots)\(origin)")
  }

  /// The key of a partial body.
  package init(partialOf name: PictureName) {
    self.init(partialOfRecord: name.recordText)
  }

  /// - Parameter text: see `PictureName.recordText`.
  init(partialOfRecord text: String) {
    self.init(hashing: "\(Domain.partial)\(text)")
  }

  fileprivate init(hashing headers: [HeaderField]) {
    // Names and values contain no NUL (RFC 9110 section 5.5).
    self.init(
      hashing: Domain.headers + headers.map { "\($0.name)\0\($0.value)\0" }.joined())
  }

  private init(hashing text: String) {
    let words = BLAKE2b.words(of: text)
    self.init(words.0, words.1, words.2, words.3)
  }

  /// - Precondition: 32 bytes.
  init(_ bytes: Span<UInt8>) {
    precondition(bytes.count == Self.byteCount)
    self.init(
      bytes.bigEndian(at: 0, as: UInt64.self), bytes.bigEndian(at: 8, as: UInt64.self),
      bytes.bigEndian(at: 16, as: UInt64.self), bytes.bigEndian(at: 24, as: UInt64.self))
  }

  /// Uniformly distributed bits of the key.
  var leadingBits: UInt64 { first }

  var bytes: [UInt8] {
    withBytes { $0.copy() }
  }

  /// Calls `body` with the bytes, without a heap allocation.
  func withBytes<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let words = (first.bigEndian, second.bigEndian, third.bigEndian, fourth.bigEndian)
    return try unsafe withUnsafeBytes(of: words) { memory throws(Failure) in
      try body(unsafe memory.bindMemory(to: UInt8.self).span)
    }
  }
}

extension PictureName {
  /// The name in records: the URL and, if there are header fields, a space and a hash of them. URLs
  /// contain no space. The fields themselves may be secrets.
  package var recordText: String {
    headers.isEmpty ? text : "\(text) \(ContentKey(hashing: headers))"
  }
}
