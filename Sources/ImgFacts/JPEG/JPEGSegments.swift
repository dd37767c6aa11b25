/// The segments of a JPEG (ITU-T T.81 annex B) up to the first scan.
struct JPEGSegments {
  enum Marker {
    static let start = 0xD8
    static let end = 0xD9
    static let scan = 0xDA
    static let temporary = 0x01
    static let restarts = 0xD0...0xD7
    static let application1 = 0xE1
    static let application2 = 0xE2
    static let application13 = 0xED
    static let application14 = 0xEE
  }

  struct Segment {
    let marker: Int
    /// Behind the length.
    let content: ByteWindow

    /// The content behind a name that must begin it; `nil` when another one does.
    func content(behind name: String) throws(FactsError) -> ByteWindow? {
      let name = Array(name.utf8)
      guard try content.bytes(at: 0, count: name.count) == name else { return nil }
      return content.part(from: name.count)
    }
  }

  /// Pictures have a few dozen, those with a large XMP packet some hundreds.
  private static let maximumSegmentCount = 2_000
  /// Bytes between segments, which some programs leave there.
  private static let maximumStrayByteCount = 1 << 16

  private let window: ByteWindow
  private var offset = 2
  private var segmentCount = 0
  private var strayByteCount = 0

  /// - Returns: `nil` when the window does not begin with the marker of a JPEG.
  init?(_ window: ByteWindow) throws(FactsError) {
    guard let start = try window.fieldsIfInside(at: 0, count: 2), start.u16(0) == 0xFFD8 else {
      return nil
    }
    self.window = window
  }

  /// - Returns: `nil` at the end of the picture, or of the window if that is no file.
  mutating func next() throws(FactsError) -> Segment? {
    while let head = try window.fieldsIfInside(at: offset, count: 2) {
      let marker = head.u8(1)
      if head.u8(0) != 0xFF || [0, 0xFF].contains(marker) {
        // Fill bytes (section B.1.1.2), or what does not belong there.
        offset += 1
        strayByteCount += 1
        guard strayByteCount <= Self.maximumStrayByteCount else {
          throw .invalid("no marker follows a segment")
        }
      } else if marker == Marker.end {
        return nil
      } else if marker == Marker.temporary || marker == Marker.start
        || Marker.restarts.contains(marker)
      {
        try pass(2)
      } else {
        return try segment(marker)
      }
    }
    return nil
  }

  private mutating func segment(_ marker: Int) throws(FactsError) -> Segment? {
    guard let length = try window.fieldsIfInside(at: offset + 2, count: 2)?.u16(0) else {
      return nil
    }
    guard length >= 2 else { throw .invalid("a segment has no length") }
    let content = window.part(at: offset + 4, count: length - 2)
    try pass(2 + length)
    return Segment(marker: marker, content: content)
  }

  private mutating func pass(_ byteCount: Int) throws(FactsError) {
    offset += byteCount
    segmentCount += 1
    guard segmentCount <= Self.maximumSegmentCount else {
      throw .invalid("more than \(Self.maximumSegmentCount) segments")
    }
  }
}
