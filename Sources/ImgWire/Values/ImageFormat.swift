/// A picture's encoding as found in its bytes, never as claimed by a file name or a header.
package enum ImageFormat: String, CaseIterable, Sendable, Codable {
  case jpeg, png, webp, gif, tiff, heif, avif, jxl, svg

  /// The media type (RFC 6838 registration) written in front of bytes of this format.
  package var mediaType: String {
    switch self {
    case .svg: "image/svg+xml"
    default: "image/\(rawValue)"
    }
  }

  /// The file name extension by which `export` and people know the format, without the dot.
  package var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    default: rawValue
    }
  }
}
