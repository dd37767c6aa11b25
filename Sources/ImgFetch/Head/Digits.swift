extension StringProtocol {
  /// Whether it is one digit or more, and nothing else (`1*DIGIT`, RFC 5234 appendix B.1). The
  /// initialisers of numbers would take a sign as well.
  var isDigits: Bool {
    !isEmpty && utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
