/// The header of a frame (T.81 section B.2.2).
struct JPEGHeader {
  /// Markers of frames: 4, 8 and 12 of them are others.
  private static let processes: [Int: (name: String, isProgressive: Bool)] = [
    0xC0: ("baseline", false), 0xC1: ("sequential", false), 0xC2: ("progressive", true),
    0xC3: ("lossless", false), 0xC5: ("differential sequential", false),
    0xC6: ("differential progressive", true), 0xC7: ("differential lossless", false),
    0xC9: ("arithmetic sequential", false), 0xCA: ("arithmetic progressive", true),
    0xCB: ("arithmetic lossless", false), 0xCD: ("arithmetic differential sequential", false),
    0xCE: ("arithmetic differential progressive", true),
    0xCF: ("arithmetic differential lossless", false), 0xF7: ("jpeg-ls", false),
  ]

  let encoding: String
  let isProgressive: Bool
  let bitsPerSample: Int
  let width: Int
  let height: Int
  /// The numbers of the components.
  let components: [Int]

  /// - Returns: `nil` for a segment that is none.
  init?(_ segment: JPEGSegments.Segment) throws(FactsError) {
    guard let process = Self.processes[segment.marker] else { return nil }
    let fields = try segment.content.fields(at: 0, count: 6)
    (encoding, isProgressive) = process
    bitsPerSample = fields.u8(0)
    (height, width) = (fields.u16(1), fields.u16(3))
    let list = try segment.content.fields(at: 6, count: fields.u8(5) * 3)
    components = (0..<fields.u8(5)).map { list.u8($0 * 3) }
    guard width > 0, !components.isEmpty else { throw .invalid("a frame without pixels") }
    guard height > 0 else { throw .unsupported("JPEG whose height follows its first scan") }
  }

  /// The size of a thumbnail; `nil` for what is no whole JPEG header.
  static func size(in window: ByteWindow) throws(FactsError) -> (width: Int, height: Int)? {
    do throws(FactsError) {
      guard var segments = try JPEGSegments(window) else { return nil }
      while let segment = try segments.next(), segment.marker != JPEGSegments.Marker.scan {
        if let header = try JPEGHeader(segment) { return (header.width, header.height) }
      }
      return nil
    } catch {
      switch error {
      case .needsBytes, .truncated: throw error
      case .invalid, .notAnImage, .unsupported: return nil
      }
    }
  }
}
