/// The encoding of a picture. The decoder detects it from the bytes; the file name and the media type
/// do not matter.
package enum ImageFormat: String, CaseIterable, Sendable, Codable {
  case jpeg, png, webp, gif, tiff, heif, avif, jxl, svg
  /// JPEG 2000.
  case jp2
  case bmp
  /// An icon or a cursor of Windows.
  case ico
  /// A portable anymap: PBM, PGM, PPM, PAM or PFM.
  case pnm

  /// Whether it is decoded only where ``Limits/allowedFormats`` names it, because known faults of its
  /// decoder corrupt memory.
  package var isOptional: Bool { self == .jp2 }

  /// The file name extension that `export` uses, without the dot.
  package var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    default: rawValue
    }
  }

  /// The format that belongs to the extension of a file name, in any case; `nil` if there is no
  /// extension or it is unknown.
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
    case "j2c", "j2k", "jp2", "jpc": self = .jp2
    case "bmp", "dib": self = .bmp
    case "cur", "ico": self = .ico
    case "pnm", "pbm", "pgm", "ppm", "pam", "pfm": self = .pnm
    case let other:
      guard let format = ImageFormat(rawValue: other) else { return nil }
      self = format
    }
  }
}
