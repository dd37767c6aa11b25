/// Writes the segments of a JPEG. Behind the start of the scan follow no pixels.
struct JPEGMaker {
  static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    [0xFF, marker] + big(content.count + 2, 2) + content
  }

  static func frame(
    marker: UInt8 = 0xC0, bits: Int = 8, width: Int = 64, height: Int = 48,
    components: [UInt8] = [1, 2, 3]
  ) -> [UInt8] {
    segment(
      marker,
      [UInt8(bits)] + big(height, 2) + big(width, 2) + [UInt8(components.count)]
        + components.flatMap { [$0, 0x11, 0] })
  }

  static func file(_ segments: [UInt8]...) -> [UInt8] {
    [0xFF, 0xD8] + segments.flatMap { $0 } + segment(0xDA, [1, 1, 0, 0, 63, 0]) + [0, 0xFF, 0xD9]
  }

  static func exif(_ file: [UInt8]) -> [UInt8] { segment(0xE1, ascii("Exif\0\0") + file) }

  static func xmp(_ packet: String) -> [UInt8] {
    segment(0xE1, ascii("http://ns.adobe.com/xap/1.0/\0" + packet))
  }

  static func photoshop(iptc: [UInt8]) -> [UInt8] {
    let other = ascii("8BIM") + big(0x03ED, 2) + [2, 65, 66, 0] + big(3, 4) + [1, 2, 3, 0]
    let record = ascii("8BIM") + big(0x0404, 2) + [0, 0] + big(iptc.count, 4) + iptc
    return segment(0xED, ascii("Photoshop 3.0\0") + other + record)
  }

  static func dataset(_ record: UInt8, _ number: UInt8, _ value: [UInt8]) -> [UInt8] {
    [0x1C, record, number] + big(value.count, 2) + value
  }

  static func profile(_ part: [UInt8], number: UInt8 = 1, of count: UInt8 = 1) -> [UInt8] {
    segment(0xE2, ascii("ICC_PROFILE\0") + [number, count] + part)
  }
}
