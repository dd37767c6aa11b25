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

  /// The format that a file's name promises by its extension; `nil` for a name without one, or with
  /// one of no format here. The case of letters does not matter.
  package init?(extensionOf path: String) {
    let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? path.utf8[...]
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else {
      return nil
    }
    switch String(decoding: name[name.index(after: dot)...], as: UTF8.self).lowercased() {
    case "jpg", "jpeg", "jpe", "jfif": self = .jpeg
    case "tif", "tiff": self = .tiff
    case "heic", "heif", "hif": self = .heif
    case "svg", "svgz": self = .svg
    case let other:
      guard let format = ImageFormat(rawValue: other) else { return nil }
      self = format
    }
  }
}
