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

  /// What libvips and the libraries below it said, each thing once.
  static func summary(of text: String) -> String {
    let lines = text.split(whereSeparator: \.isNewline).map(Self.withoutEmptyParts)
    // A library that looks behind the end tells more about it afterwards.
    let seek = "source: bad seek to "
    let told = lines.contains { !$0.hasPrefix(seek) } ? lines.filter { !$0.hasPrefix(seek) } : lines
    var seen: Set<String> = []
    return told.filter { seen.insert($0).inserted }.joined(separator: "; ")
  }

  /// libheif leaves a separator without what it would separate.
  private static func withoutEmptyParts(_ line: Substring) -> String {
    line.split(separator: ";").map { $0.drop(while: \.isWhitespace) }.filter { !$0.isEmpty }
      .joined(separator: "; ").replacing("; (", with: " (")
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

  package var description: String {
    detail.isEmpty ? "\(operation): libvips gives no reason" : "\(operation): \(detail)"
  }
}
