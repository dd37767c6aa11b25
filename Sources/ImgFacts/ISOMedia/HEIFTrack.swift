/// The frames of a sequence as its first track of pictures tells them (ISO/IEC 14496-12 section 8).
struct HEIFTrack {
  let width: Int
  let height: Int
  /// The part of the pictures that is shown; `nil` for all.
  let shownArea: PixelArea?
  let orientation: PictureOrientation
  let codec: HEIFCodec?
  let codePoints: ColourCodePoints?
  let hasProfile: Bool
  /// In milliseconds.
  let delays: [Double]
  /// 0 means forever; `nil` when the file does not say it.
  let loopCount: Int?

  /// - Returns: `nil` when no track has pictures.
  init?(movie: ISOMediaBox) throws(FactsError) {
    guard let track = try ISOMediaTrack.all(in: movie).first(where: \.showsPictures),
      let times = try track.table("stts")
    else { return nil }
    let head = try track.head()
    if let box = try track.firstSampleEntry() {
      let entry = try VisualSampleEntry(box)
      (width, height) = (entry.width, entry.height)
      let image = try entry.image()
      codec = image.codec
      (codePoints, hasProfile) = (image.codePoints ?? image.codec?.codePoints, image.profile != nil)
      shownArea = image.aperture?.area(inWidth: width, height: height)
      orientation = image.orientation.followed(by: head.orientation)
    } else {
      (width, height) = (head.width, head.height)
      (codec, shownArea, orientation) = (nil, nil, head.orientation)
      (codePoints, hasProfile) = (nil, false)
    }
    guard width > 0, height > 0 else { return nil }
    let scale = try track.timescale()
    guard scale > 0 else { return nil }
    let ticks = try SampleTimes(decoding: times, offsets: track.table("ctts")).durations
    delays = ticks.map { Double($0) * 1_000 / Double(scale) }
    loopCount = try Self.loopCount(of: track.box, trackDuration: head.duration)
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
