/// The frames of a sequence as the first track of pictures tells them (ISO/IEC 14496-12 section 8).
struct HEIFTrack {
  private static let maximumRunCount = 65_536

  let width: Int
  let height: Int
  private(set) var codec: HEIFCodec?
  /// In milliseconds.
  private(set) var delays: [Int] = []
  private(set) var duration = 0
  /// 0 means forever; `nil` when the file does not say it.
  private(set) var loopCount: Int?

  /// - Returns: `nil` when no track has pictures.
  init?(movie: ISOMediaBox) throws(FactsError) {
    for track in try ISOMediaBoxes(movie.payload).all() where track.type == "trak" {
      guard let media = try ISOMediaBoxes(track.payload).first("mdia"),
        let handler = try ISOMediaBoxes(media.payload).first("hdlr"),
        ["pict", "vide"].contains(try handler.content.fields(at: 4, count: 4).name(0))
      else { continue }
      try self.init(track: track, media: media)
      return
    }
    return nil
  }

  private init?(track: ISOMediaBox, media: ISOMediaBox) throws(FactsError) {
    guard let header = try ISOMediaBoxes(track.payload).first("tkhd"),
      let mediaHeader = try ISOMediaBoxes(media.payload).first("mdhd"),
      let information = try ISOMediaBoxes(media.payload).first("minf"),
      let table = try ISOMediaBoxes(information.payload).first("stbl"),
      let times = try ISOMediaBoxes(table.payload).first("stts")
    else { return nil }
    let isLong = try header.version() == 1
    let fields = try header.payload.fields(at: 0, count: isLong ? 96 : 84)
    // Fixed-point numbers of 16 and 16 bits.
    (width, height) = (fields.u16(isLong ? 88 : 76), fields.u16(isLong ? 92 : 80))
    guard width > 0, height > 0 else { return nil }
    let isLongMedia = try mediaHeader.version() == 1
    let scale = try mediaHeader.payload.fields(at: isLongMedia ? 20 : 12, count: 4).u32(0)
    guard scale > 0 else { return nil }
    try readTimes(times, scale: scale)
    codec = try Self.codec(in: table)
    let trackDuration = isLong ? fields.u64(28) : fields.u32(20)
    let isForever = isLong ? trackDuration == .max : trackDuration == Int(UInt32.max)
    loopCount = try Self.loopCount(of: track, trackDuration: isForever ? nil : trackDuration)
  }

  /// Runs of frames of equal length (section 8.6.1.2).
  private mutating func readTimes(_ box: ISOMediaBox, scale: Int) throws(FactsError) {
    let runCount = min(try box.content.fields(at: 0, count: 4).u32(0), Self.maximumRunCount)
    let runs = try box.content.fields(at: 4, count: runCount * 8)
    var ticks = 0
    for run in 0..<runCount {
      let (count, delta) = (runs.u32(run * 8), runs.u32(run * 8 + 4))
      guard delays.count + count <= FactsLimits.maximumFrameCount else {
        throw FactsLimits.tooManyFrames
      }
      delays += Array(repeating: (delta * 1_000 + scale / 2) / scale, count: count)
      ticks += count * delta
    }
    duration = (ticks * 1_000 + scale / 2) / scale
  }

  /// The configuration in the first description of samples (section 8.5.2), behind its fields.
  private static func codec(in table: ISOMediaBox) throws(FactsError) -> HEIFCodec? {
    guard let descriptions = try ISOMediaBoxes(table.payload).first("stsd") else { return nil }
    var entries = ISOMediaBoxes(descriptions.content.part(from: 4))
    guard let entry = try entries.next() else { return nil }
    for box in try ISOMediaBoxes(entry.payload.part(from: 78)).all() {
      if let codec = try HEIFCodec(box) { return codec }
    }
    return nil
  }

  /// An edit list that repeats does so until the track ends (section 8.6.6).
  private static func loopCount(
    of track: ISOMediaBox, trackDuration: Int?
  ) throws(FactsError) -> Int? {
    guard let edits = try ISOMediaBoxes(track.payload).first("edts"),
      let list = try ISOMediaBoxes(edits.payload).first("elst")
    else { return nil }
    let isLong = try list.version() == 1
    let fields = try list.payload.fields(at: 0, count: 16)
    guard fields.u8(3) & 1 != 0 else { return 1 }
    guard let trackDuration else { return 0 }
    let segment = isLong ? fields.u64(8) : fields.u32(8)
    guard segment > 0 else { return nil }
    return (trackDuration / segment) + (trackDuration % segment == 0 ? 0 : 1)
  }
}
