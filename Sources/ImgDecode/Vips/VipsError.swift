import CVips

/// A call of libvips, or of a library that works on its images, that failed: which one, and what
/// libvips said.
///
/// libvips keeps one error text for the whole process. One thread decodes, and clears it before
/// each picture. It is for people; nothing but ``isOutOfMemory`` depends on it.
package struct VipsError: Error, Sendable, CustomStringConvertible {
  package let operation: String
  package let detail: String

  /// Takes the error text out of libvips' buffer, which is empty afterwards.
  init(operation: String) {
    self.operation = operation
    // The function declares its result as never NULL, and returns a string for g_free().
    let text = unsafe vips_error_buffer_copy()
    defer { unsafe g_free(text) }
    detail = Self.summary(of: unsafe text.map { unsafe String(cString: $0) } ?? "")
  }

  /// What libvips and the libraries below it said, each thing once: the reason, rather than what followed from it.
  static func summary(of text: String) -> String {
    let lines = text.split(whereSeparator: \.isNewline).map(Self.withoutEmptyParts)
    let reasons = lines.filter { line in !asides.contains { line.contains($0) } }
    var seen: Set<String> = []
    return (reasons.isEmpty ? lines : reasons).filter { seen.insert($0).inserted }
      .joined(separator: "; ").replacing("; (", with: " (")
  }

  /// Where a library looked, which tags of a TIFF libtiff does not know, and that libvips gave up because libtiff did.
  private static let asides = [
    "source: bad seek to ", "is TIFF_SETGET_UNDEFINED and thus tag is not read from file",
    "vips__tiff_openin_source: unable to open source for input", "tiff2vips: read error",
  ]

  /// libheif leaves a separator without what it would separate.
  private static func withoutEmptyParts(_ line: Substring) -> String {
    line.split(separator: ";").map { $0.drop(while: \.isWhitespace) }.filter { !$0.isEmpty }
      .joined(separator: "; ")
  }

  /// An allocation outside libvips that failed.
  static func outOfMemory(in operation: String) -> VipsError {
    VipsError(operation: operation, detail: outOfMemoryText)
  }

  private init(operation: String, detail: String) {
    self.operation = operation
    self.detail = detail
  }

  /// libvips reports an allocation that failed by this text alone (vips_malloc()).
  private static let outOfMemoryText = "out of memory"

  /// Forgets what was said of earlier pictures.
  static func forgetEarlier() {
    vips_error_clear()
  }

  var isOutOfMemory: Bool { detail.contains(Self.outOfMemoryText) }

  /// Whether nothing is said but that reading failed.
  var isWithoutReason: Bool { detail.isEmpty || Self.emptyReasons.contains(detail) }

  private static let emptyReasons: Set = [
    "vipspng: libpng read error", "webp: unable to parse image", "webp2vips: unable to read pixels",
    "jxlload_buffer: error JxlDecoderProcessInput",
  ]

  package var description: String {
    detail.isEmpty ? "\(operation): libvips gives no reason" : "\(operation): \(detail)"
  }
}
