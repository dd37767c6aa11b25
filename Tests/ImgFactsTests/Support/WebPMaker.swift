/// Writes the chunks of a WebP file.
struct WebPMaker {
  static func chunk(_ name: String, _ payload: [UInt8]) -> [UInt8] {
    ascii(name) + little(payload.count, 4) + payload + zeros(payload.count % 2)
  }

  static func file(_ chunks: [UInt8]...) -> [UInt8] {
    let body = chunks.flatMap { $0 }
    return ascii("RIFF") + little(body.count + 4, 4) + ascii("WEBP") + body
  }

  static func extended(flags: UInt8, width: Int = 20, height: Int = 10) -> [UInt8] {
    chunk("VP8X", [flags, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
  }

  static func lossy(width: Int = 20, height: Int = 10, data: Int = 0) -> [UInt8] {
    chunk(
      "VP8 ",
      [0x10, 0, 0, 0x9D, 0x01, 0x2A] + little(width, 2) + little(height, 2) + zeros(data))
  }

  static func lossless(width: Int = 20, height: Int = 10, hasAlpha: Bool = false) -> [UInt8] {
    chunk(
      "VP8L", [0x2F] + little((width - 1) | (height - 1) << 14 | (hasAlpha ? 1 << 28 : 0), 4))
  }

  static func frame(duration: Int, data: Int = 10) -> [UInt8] {
    chunk("ANMF", zeros(12) + little(duration, 3) + [0] + lossy(data: data))
  }

  static func animation(loopCount: Int) -> [UInt8] {
    chunk("ANIM", zeros(4) + little(loopCount, 2))
  }
}
