import ImgModel

extension ImageFormat {
  /// The format's number in records. Numbers are added, never reused.
  var storedNumber: UInt8 {
    switch self {
    case .jpeg: 1
    case .png: 2
    case .webp: 3
    case .gif: 4
    case .tiff: 5
    case .heif: 6
    case .avif: 7
    case .jxl: 8
    case .svg: 9
    case .jp2: 10
    case .bmp: 11
    case .ico: 12
    case .pnm: 13
    }
  }

  init?(storedNumber: UInt8) {
    switch storedNumber {
    case 1: self = .jpeg
    case 2: self = .png
    case 3: self = .webp
    case 4: self = .gif
    case 5: self = .tiff
    case 6: self = .heif
    case 7: self = .avif
    case 8: self = .jxl
    case 9: self = .svg
    case 10: self = .jp2
    case 11: self = .bmp
    case 12: self = .ico
    case 13: self = .pnm
    default: return nil
    }
  }
}
