/// Writes animated PNGs (PNG Specification, third edition, section 11.3.6).
package struct APNGWriter: Sendable {
  package enum Disposal: UInt8, Sendable { case none, background, previous }
  package enum Blending: UInt8, Sendable { case source, over }

  package struct Frame: Sendable {
    /// Its pixels, as a PNG of the same kind as the other frames.
    let png: [UInt8]
    let left: Int
    let top: Int
    /// Hundredths of a second.
    let delay: Int
    let disposal: Disposal
    let blending: Blending

    package init(
      _ png: [UInt8], left: Int = 0, top: Int = 0, delay: Int = 10, disposal: Disposal = .none,
      blending: Blending = .source
    ) {
      self.png = png
      self.left = left
      self.top = top
      self.delay = delay
      self.disposal = disposal
      self.blending = blending
    }
  }

  /// How often it plays; 0 means forever.
  private let loopCount: Int
  private let frames: [Frame]
  /// What readers show that know of no animation; `nil` for the first frame.
  private let defaultImage: [UInt8]?
  private var sequenceNumber = 0
  private var chunks: [PNGChunk] = []

  package static func chunks(
    _ frames: [Frame], loopCount: Int = 0, defaultImage: [UInt8]? = nil
  ) -> [PNGChunk] {
    var writer = APNGWriter(frames: frames, loopCount: loopCount, defaultImage: defaultImage)
    writer.write()
    return writer.chunks
  }

  package static func file(
    _ frames: [Frame], loopCount: Int = 0, defaultImage: [UInt8]? = nil
  ) -> [UInt8] {
    PNGChunk.file(chunks(frames, loopCount: loopCount, defaultImage: defaultImage))
  }

  private init(frames: [Frame], loopCount: Int, defaultImage: [UInt8]?) {
    (self.frames, self.loopCount, self.defaultImage) = (frames, loopCount, defaultImage)
  }

  private mutating func write() {
    for chunk in PNGChunk.chunks(of: defaultImage ?? frames[0].png) {
      switch chunk.name {
      case "IEND":
        for frame in frames.dropFirst(defaultImage == nil ? 1 : 0) {
          writeControl(of: frame)
          for data in Self.pixels(of: frame.png) {
            writeNumbered("fdAT", data)
          }
        }
      case "IDAT" where !chunks.contains { $0.name == "acTL" }:
        chunks.append(
          PNGChunk("acTL", PNGChunk.bigEndian(frames.count) + PNGChunk.bigEndian(loopCount)))
        if defaultImage == nil { writeControl(of: frames[0]) }
      default: break
      }
      chunks.append(chunk)
    }
  }

  private mutating func writeControl(of frame: Frame) {
    // The width and the height begin the header.
    let size = Array(PNGChunk.chunks(of: frame.png)[0].data.prefix(8))
    writeNumbered(
      "fcTL",
      size + PNGChunk.bigEndian(frame.left) + PNGChunk.bigEndian(frame.top)
        + PNGChunk.bigEndian(frame.delay, byteCount: 2) + PNGChunk.bigEndian(100, byteCount: 2)
        + [frame.disposal.rawValue, frame.blending.rawValue])
  }

  private mutating func writeNumbered(_ name: String, _ data: [UInt8]) {
    chunks.append(PNGChunk(name, PNGChunk.bigEndian(sequenceNumber) + data))
    sequenceNumber += 1
  }

  /// The data of the IDAT chunks; in two chunks at least, as a reader must join them.
  private static func pixels(of png: [UInt8]) -> [[UInt8]] {
    let data = PNGChunk.chunks(of: png).filter { $0.name == "IDAT" }.flatMap(\.data)
    return [Array(data.prefix(data.count / 2)), Array(data.dropFirst(data.count / 2))]
  }
}
