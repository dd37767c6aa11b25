/// A track of an ISO base media file (ISO/IEC 14496-12 section 8.3).
struct ISOMediaTrack {
  /// More than any file of pictures has.
  private static let maximumReferenceCount = 16

  let box: ISOMediaBox
  private let header: ISOMediaBox
  private let mediaHeader: ISOMediaBox
  /// Where the samples lie, and how long each is shown.
  private let table: ISOMediaBox
  /// What the samples are (section 8.4.3): `pict`, `vide`, `auxv`, `soun` and others.
  let handler: String

  /// The tracks of a `moov` box. One that lacks what it must have is left out.
  static func all(in movie: ISOMediaBox) throws(FactsError) -> [ISOMediaTrack] {
    var tracks: [ISOMediaTrack] = []
    for box in try movie.children() where box.type == "trak" {
      if let track = try ISOMediaTrack(box) { tracks.append(track) }
    }
    return tracks
  }

  private init?(_ box: ISOMediaBox) throws(FactsError) {
    guard let header = try ISOMediaBoxes(box.payload).first("tkhd"),
      let media = try ISOMediaBoxes(box.payload).first("mdia"),
      let mediaHeader = try ISOMediaBoxes(media.payload).first("mdhd"),
      let handler = try ISOMediaBoxes(media.payload).first("hdlr"),
      let information = try ISOMediaBoxes(media.payload).first("minf"),
      let table = try ISOMediaBoxes(information.payload).first("stbl")
    else { return nil }
    self.box = box
    (self.header, self.mediaHeader, self.table) = (header, mediaHeader, table)
    self.handler = try handler.content.fields(at: 4, count: 4).name(0)
  }

  /// Whether its samples are the pictures that are seen.
  var showsPictures: Bool { ["pict", "vide"].contains(handler) }

  /// Ticks in a second (section 8.4.2); 0 in a damaged file.
  func timescale() throws(FactsError) -> Int {
    let isLong = try mediaHeader.version() == 1
    return try mediaHeader.payload.fields(at: isLong ? 20 : 12, count: 4).u32(0)
  }

  func table(_ type: String) throws(FactsError) -> ISOMediaBox? {
    try ISOMediaBoxes(table.payload).first(type)
  }

  /// The first description of samples (section 8.5.2).
  func firstSampleEntry() throws(FactsError) -> ISOMediaBox? {
    guard let descriptions = try table("stsd") else { return nil }
    var entries = ISOMediaBoxes(descriptions.content.part(from: 4))
    return try entries.next()
  }

  /// The numbers of the tracks that it refers to (section 8.3.3).
  func references(_ type: String) throws(FactsError) -> [Int] {
    guard let references = try ISOMediaBoxes(box.payload).first("tref"),
      let list = try ISOMediaBoxes(references.payload).first(type)?.payload
    else { return [] }
    let count = min(list.byteCount / 4, Self.maximumReferenceCount)
    let fields = try list.fields(at: 0, count: count * 4)
    return (0..<count).map { fields.u32($0 * 4) }
  }

  func head() throws(FactsError) -> ISOMediaTrackHead {
    let isLong = try header.version() == 1
    return ISOMediaTrackHead(
      try header.payload.fields(at: 0, count: isLong ? 96 : 84), isLong: isLong)
  }
}

/// The header of a track (section 8.3.2).
struct ISOMediaTrackHead {
  let number: Int
  /// In ticks of the movie; `nil` for one that never ends.
  let duration: Int?
  /// As the track is shown, before it is turned.
  let width: Int
  let height: Int
  let orientation: PictureOrientation

  fileprivate init(_ fields: BinaryFields, isLong: Bool) {
    number = fields.u32(isLong ? 20 : 12)
    let duration = isLong ? fields.u64(28) : fields.u32(20)
    let isForever = isLong ? duration == .max : duration == Int(UInt32.max)
    self.duration = isForever ? nil : duration
    // Fixed-point numbers of 16 and 16 bits.
    (width, height) = (fields.u16(isLong ? 88 : 76), fields.u16(isLong ? 92 : 80))
    let matrix = isLong ? 52 : 40
    // Each row has three numbers: a, b, u and c, d, v.
    let signs = [0, 4, 12, 16].map {
      Int(Int32(truncatingIfNeeded: fields.u32(matrix + $0)).signum())
    }
    orientation = PictureOrientation(right: (signs[0], signs[1]), down: (signs[2], signs[3]))
  }
}
