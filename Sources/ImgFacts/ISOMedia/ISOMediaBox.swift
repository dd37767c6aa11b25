/// A box of an ISO base media file (ISO/IEC 14496-12 section 4.2), of which HEIF, AVIF, JPEG XL and
/// JPEG 2000 files are made.
package struct ISOMediaBox {
  package let type: String
  package let payload: ByteWindow

  /// The version of a full box.
  func version() throws(FactsError) -> Int { try payload.fields(at: 0, count: 1).u8(0) }

  func children() throws(FactsError) -> [ISOMediaBox] { try ISOMediaBoxes(payload).all() }

  /// What follows the version and the flags of a full box.
  var content: ByteWindow { payload.part(from: 4) }

  /// The properties that the items of a file have, in their order (ISO/IEC 23008-12 section 9.3).
  package static func itemProperties(in file: ByteWindow) throws(FactsError) -> [ISOMediaBox] {
    guard let meta = try ISOMediaBoxes(file).first("meta"),
      let properties = try ISOMediaBoxes(meta.content).first("iprp"),
      let container = try ISOMediaBoxes(properties.payload).first("ipco")
    else { return [] }
    return try ISOMediaBoxes(container.payload).all()
  }
}

/// Boxes that lie one behind the other.
package struct ISOMediaBoxes {
  /// More than any picture has in one place.
  private static let maximumCount = 16_384
  private static let headerByteCount = 8

  private let window: ByteWindow
  /// Where the last box ends.
  private(set) var offset = 0
  private var count = 0

  package init(_ window: ByteWindow) {
    self.window = window
  }

  /// - Returns: `nil` at the end, and where no box begins.
  package mutating func next() throws(FactsError) -> ISOMediaBox? {
    guard !window.isEndOfFile(offset),
      let head = try window.fieldsIfInside(at: offset, count: Self.headerByteCount)
    else { return nil }
    count += 1
    guard count <= Self.maximumCount else {
      throw .unsupported("more than \(Self.maximumCount) boxes")
    }
    var headerByteCount = Self.headerByteCount
    var byteCount = head.u32(0)
    switch byteCount {
    case 0: byteCount = window.byteCount - offset
    case 1:
      // A length of 64 bits follows the type.
      guard let long = try window.fieldsIfInside(at: offset + headerByteCount, count: 8) else {
        return nil
      }
      byteCount = long.u64(0)
      headerByteCount = 16
    default: break
    }
    guard byteCount >= headerByteCount, byteCount <= ByteWindow.maximumFileByteCount else {
      return nil
    }
    let payload = window.part(at: offset + headerByteCount, count: byteCount - headerByteCount)
    offset += byteCount
    return ISOMediaBox(type: head.name(4), payload: payload)
  }

  /// The first of a type.
  package func first(_ type: String) throws(FactsError) -> ISOMediaBox? {
    var boxes = self
    while let box = try boxes.next() {
      if box.type == type { return box }
    }
    return nil
  }

  package func all() throws(FactsError) -> [ISOMediaBox] {
    var (boxes, all) = (self, [ISOMediaBox]())
    while let box = try boxes.next() { all.append(box) }
    return all
  }
}

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

/// Where the samples of a track lie in the file (ISO/IEC 14496-12 sections 8.7.3 to 8.7.5).
struct SampleTable {
  /// In the order in which they are decoded.
  private(set) var samples: [Range<Int>] = []

  init(of track: ISOMediaTrack) throws(FactsError) {
    guard let sizes = try Self.sizes(of: track), let offsets = try Self.chunkOffsets(of: track),
      let chunks = try track.table("stsc")
    else { throw .invalid("a track does not say where its samples are") }
    let runs = try Self.runs(in: chunks)
    var (sample, run) = (0, 0)
    for (index, offset) in offsets.enumerated() {
      while run + 1 < runs.count, runs[run + 1].firstChunk <= index + 1 { run += 1 }
      guard run < runs.count else { break }
      var start = offset
      // A chunk may declare more samples than the track has.
      for _ in 0..<min(runs[run].sampleCount, sizes.count - sample) {
        guard start <= ByteWindow.maximumFileByteCount else {
          throw .invalid("a sample lies behind the end of the file")
        }
        samples.append(start..<start + sizes[sample])
        start += sizes[sample]
        sample += 1
      }
      if sample == sizes.count { return }
    }
    guard sample == sizes.count else {
      throw .invalid("\(sample) of \(sizes.count) samples have a place in the file")
    }
  }

  private static func checked(_ count: Int) throws(FactsError) -> Int {
    guard count <= FactsLimits.maximumFrameCount else { throw FactsLimits.tooManyFrames }
    return count
  }

  /// - Returns: `nil` if there are none.
  private static func sizes(of track: ISOMediaTrack) throws(FactsError) -> [Int]? {
    guard try track.table("stz2") == nil else {
      throw .unsupported("a sequence with compact sample sizes")
    }
    guard let box = try track.table("stsz") else { return nil }
    let head = try box.content.fields(at: 0, count: 8)
    let count = try checked(head.u32(4))
    guard head.u32(0) == 0 else { return Array(repeating: head.u32(0), count: count) }
    let fields = try box.content.fields(at: 8, count: count * 4)
    return (0..<count).map { fields.u32($0 * 4) }
  }

  private static func chunkOffsets(of track: ISOMediaTrack) throws(FactsError) -> [Int]? {
    let long = try track.table("co64")
    let short = try track.table("stco")
    guard let box = long ?? short else { return nil }
    let size = long == nil ? 4 : 8
    let count = try checked(box.content.fields(at: 0, count: 4).u32(0))
    let fields = try box.content.fields(at: 4, count: count * size)
    return (0..<count).map { fields.unsigned($0 * size, count: size) }
  }

  /// Chunks that follow each other and have equally many samples.
  private struct Run {
    /// Counted from 1.
    let firstChunk: Int
    let sampleCount: Int
  }

  private static func runs(in box: ISOMediaBox) throws(FactsError) -> [Run] {
    let count = try checked(box.content.fields(at: 0, count: 4).u32(0))
    let fields = try box.content.fields(at: 4, count: count * 12)
    // Counted from 1. The other numbers of the track are those of the first description.
    guard (0..<count).allSatisfy({ fields.u32($0 * 12 + 8) <= 1 }) else {
      throw .unsupported("a sequence with several sample descriptions")
    }
    return (0..<count).map {
      Run(firstChunk: fields.u32($0 * 12), sampleCount: fields.u32($0 * 12 + 4))
    }
  }
}

/// How long the samples of a track are shown, in ticks of the track.
struct SampleTimes {
  private static let maximumRunCount = FactsLimits.maximumFrameCount

  /// In the order in which the samples are shown.
  private(set) var durations: [Int]

  /// - Parameters:
  ///   - decoding: the box `stts` (ISO/IEC 14496-12 section 8.6.1.2): how long after each sample the
  ///     next one is decoded.
  ///   - offsets: the box `ctts` (section 8.6.1.3): how much later than decoded each sample is shown.
  ///     `nil` if they are shown in the order in which they are decoded.
  init(decoding: ISOMediaBox, offsets: ISOMediaBox?) throws(FactsError) {
    durations = try Self.values(in: decoding, isSigned: false)
    guard let offsets, let last = durations.last else { return }
    let shifts = try Self.values(in: offsets, isSigned: offsets.version() == 1)
    guard shifts.count == durations.count else { return }
    var (time, starts) = (0, [Int]())
    for (duration, shift) in zip(durations, shifts) {
      starts.append(time + shift)
      time += duration
    }
    starts.sort()
    durations = zip(starts.dropFirst(), starts).map { $0 - $1 } + [last]
  }

  /// Runs of equal values.
  private static func values(in box: ISOMediaBox, isSigned: Bool) throws(FactsError) -> [Int] {
    let runCount = min(try box.content.fields(at: 0, count: 4).u32(0), maximumRunCount)
    let runs = try box.content.fields(at: 4, count: runCount * 8)
    var values: [Int] = []
    for run in 0..<runCount {
      let (count, value) = (runs.u32(run * 8), runs.u32(run * 8 + 4))
      guard values.count + count <= FactsLimits.maximumFrameCount else {
        throw FactsLimits.tooManyFrames
      }
      let signed = isSigned ? Int(Int32(truncatingIfNeeded: value)) : value
      values += Array(repeating: signed, count: count)
    }
    return values
  }
}

/// What a file says of the samples of a track of pictures (ISO/IEC 14496-12 section 12.1.3).
struct VisualSampleEntry {
  /// Its fields, behind which boxes follow.
  private static let byteCount = 78

  let type: String
  /// Pixels of a sample.
  let width: Int
  let height: Int
  let boxes: [ISOMediaBox]

  init(_ entry: ISOMediaBox) throws(FactsError) {
    let fields = try entry.payload.fields(at: 0, count: Self.byteCount)
    type = entry.type
    (width, height) = (fields.u16(24), fields.u16(26))
    boxes = try ISOMediaBoxes(entry.payload.part(from: Self.byteCount)).all()
  }

  /// The boxes are those that an item has as properties.
  func image() throws(FactsError) -> HEIFImage { try HEIFImage(boxes) }

  func box(_ type: String) -> ISOMediaBox? { boxes.first { $0.type == type } }

  /// What an auxiliary picture is (ISO/IEC 23008-12 section 7.5.3).
  func auxiliaryType() throws(FactsError) -> String? {
    guard let payload = box("auxi")?.payload else { return nil }
    return MetadataText.text(try payload.bytes(at: 4, upTo: HEIFImage.longestAuxiliaryType))
  }
}
