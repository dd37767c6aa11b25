/// The frames of a sequence as its first track of pictures tells them (ISO/IEC 14496-12 section 8).
struct HEIFTrack {
  private static let maximumRunCount = 65_536

  let width: Int
  let height: Int
  let orientation: PictureOrientation
  private(set) var codec: HEIFCodec?
  /// In milliseconds.
  private(set) var delays: [Int] = []
  private(set) var duration = 0
  /// 0 means forever; `nil` when the file does not say it.
  private(set) var loopCount: Int?

  /// - Returns: `nil` when no track has pictures.
  init?(movie: ISOMediaBox) throws(FactsError) {
    guard let track = try ISOMediaTrack.all(in: movie).first(where: \.showsPictures),
      let times = try track.table("stts")
    else { return nil }
    let head = try track.head()
    (width, height, orientation) = (head.width, head.height, head.orientation)
    guard width > 0, height > 0 else { return nil }
    let scale = try track.timescale()
    guard scale > 0 else { return nil }
    try readTimes(times, scale: scale)
    if let entry = try track.firstSampleEntry() {
      codec = try VisualSampleEntry(entry).image().codec
    }
    loopCount = try Self.loopCount(of: track.box, trackDuration: head.duration)
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
