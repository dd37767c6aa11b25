import CVips

/// Why a test picture could not be made or read.
package struct PictureError: Error, CustomStringConvertible {
  package let description: String

  /// Takes the error text out of libvips' buffer, which is empty afterwards.
  init(operation: String) {
    let text = unsafe vips_error_buffer_copy()
    defer { unsafe g_free(text) }
    description = "\(operation): " + (unsafe text.map { unsafe String(cString: $0) } ?? "")
  }
}
