import CVips

/// A libvips call that failed: which one, and what the library said.
///
/// libvips keeps one error text for the whole process, so the text may stem from another thread's
/// failure. It is for people; nothing branches on it.
package struct VipsError: Error, Sendable, CustomStringConvertible {
  package let operation: String
  package let detail: String

  /// Takes the error text out of libvips' buffer, which is empty afterwards.
  init(operation: String) {
    self.operation = operation
    // The function declares its result as never NULL, and returns a string for g_free().
    let text = unsafe vips_error_buffer_copy()
    defer { unsafe g_free(text) }
    let lines = unsafe text.map { unsafe String(cString: $0) } ?? ""
    detail = lines.split(whereSeparator: \.isNewline).joined(separator: "; ")
  }

  package var description: String {
    detail.isEmpty ? "\(operation) failed" : "\(operation): \(detail)"
  }
}
