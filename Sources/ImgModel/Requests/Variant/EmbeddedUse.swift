/// Whether a thumbnail is made from the preview that a camera put into the file. A preview takes a
/// fraction of the time, and may differ from its picture.
package enum EmbeddedUse: String, CaseIterable, Sendable, Codable {
  /// Where the preview is large enough and shows the whole picture, for formats in which it belongs
  /// to the picture (HEIF, AVIF).
  case auto
  /// Wherever there is a preview, also a smaller one.
  case always
  case never

  /// See ``Variant/canonicalText``; `nil` for the default.
  var canonicalText: String? { self == .auto ? nil : "thumb=\(rawValue)" }
}
