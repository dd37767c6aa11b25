/// Puts pictures together to an icon or a cursor of Windows.
package struct IconWriter: Sendable {
  package struct Part: Sendable {
    let width: Int
    let height: Int
    package let bytes: [UInt8]

    /// - Parameter bytes: a PNG, or a bitmap as ``BitmapWriter/iconPart(_:)`` makes it.
    package init(width: Int, height: Int, _ bytes: [UInt8]) {
      (self.width, self.height, self.bytes) = (width, height, bytes)
    }

    package init(_ raster: Raster, _ writer: BitmapWriter) {
      self.init(width: raster.width, height: raster.height, writer.iconPart(raster))
    }
  }

  private let parts: [Part]
  private let type: UInt8

  /// - Parameter isCursor: whether the fields of the colours hold the place of the tip.
  package init(_ parts: [Part], isCursor: Bool = false) {
    self.parts = parts
    type = isCursor ? 2 : 1
  }

  package var bytes: [UInt8] {
    var directory: [UInt8] = [0, 0, type, 0] + number(parts.count, 2)
    var offset = directory.count + 16 * parts.count
    for part in parts {
      // A side of 256 pixels has the number 0.
      directory += [UInt8(part.width & 0xFF), UInt8(part.height & 0xFF), 0, 0]
      directory += [7, 0, 9, 0] + number(part.bytes.count, 4) + number(offset, 4)
      offset += part.bytes.count
    }
    return directory + parts.flatMap(\.bytes)
  }

  private func number(_ value: Int, _ byteCount: Int) -> [UInt8] {
    (0..<byteCount).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
