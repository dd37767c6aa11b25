import ImgFacts
import ImgModel

/// What an origin or a file name claims a picture to be.
struct DeclaredType {
  private let text: String?
  private let format: ImageFormat?

  /// - Parameters:
  ///   - mediaType: of the origin, in lower case; `nil` without one. It has the word before the name.
  ///   - path: a file name, or a URL without its query.
  init(_ mediaType: String?, path: String) {
    if let mediaType, !Self.meaningless.contains(mediaType) {
      text = mediaType
      format = ImageFormat(mediaType: mediaType)
    } else {
      format = ImageFormat(extensionOf: path)
      text = format?.mediaType
    }
  }

  /// What servers send that do not know.
  private static let meaningless: Set = [
    "application/octet-stream", "binary/octet-stream", "application/x-unknown", "image/*",
  ]

  /// The claim, if the picture is of another format; `nil` if it is right, or there is none.
  func contradicting(_ actual: ImageFormat) -> String? {
    guard format != actual else { return nil }
    return text
  }
}

extension ImageFormat {
  /// The format of a media type, as IANA registers it or as servers used to write it; `nil` for any
  /// other.
  fileprivate init?(mediaType: String) {
    switch mediaType {
    case "image/jpg", "image/pjpeg", "image/jfif": self = .jpeg
    case "image/apng", "image/x-png", "image/vnd.mozilla.apng": self = .png
    case "image/heic", "image/heic-sequence", "image/heif-sequence": self = .heif
    case "image/avif-sequence": self = .avif
    case "image/x-icon", "image/ico", "image/icon", "image/x-win-bitmap": self = .ico
    case "image/x-ms-bmp", "image/x-bmp", "image/x-windows-bmp": self = .bmp
    case "image/x-portable-bitmap", "image/x-portable-graymap", "image/x-portable-pixmap",
      "image/x-portable-arbitrarymap", "image/x-portable-floatmap":
      self = .pnm
    case "image/x-tiff": self = .tiff
    case "image/jpx", "image/jpm", "image/j2c", "image/jpeg2000": self = .jp2
    case "image/svg": self = .svg
    default:
      guard let format = ImageFormat.allCases.first(where: { $0.mediaType == mediaType }) else {
        return nil
      }
      self = format
    }
  }
}
