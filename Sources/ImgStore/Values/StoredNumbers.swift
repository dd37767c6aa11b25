import ImgWire

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
    }
  }

  private static let byStoredNumber = Dictionary(
    uniqueKeysWithValues: allCases.map { ($0.storedNumber, $0) })

  init?(storedNumber: UInt8) {
    guard let format = Self.byStoredNumber[storedNumber] else { return nil }
    self = format
  }
}
