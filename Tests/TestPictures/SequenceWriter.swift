/// An AVIF or HEIC sequence (ISO/IEC 23008-12 section 7) whose frames are files of one picture each.
package struct SequenceWriter {
  /// What the sequence is like beside its frames.
  package struct Options {
    /// Ticks in a second.
    package var timescale: UInt32 = 1_000
    /// Ticks that each frame is shown.
    package var delay: UInt32 = 100
    /// Whether it plays forever.
    package var repeats = true
    /// The rows of the matrix of the track: a, b, c and d.
    package var matrix: [Int32] = [1, 0, 0, 1]
    /// What the description of the samples says of how the pixels are shown: types of boxes, and what
    /// is in them.
    package var transformations: [(type: String, content: [UInt8])] = []
    /// The number of the description that all samples have, counted from 1.
    package var descriptionNumber: UInt32 = 1
    /// The type of the samples; `nil` for that of the format.
    package var sampleType: String?
    /// A file of one picture in front of the tracks.
    package var still: [UInt8]?

    package init() {}
  }

  private let brand: String
  private let codec: (sampleType: String, configurationType: String)
  private let options: Options

  /// - Parameter format: ``PictureFormat/avif`` or ``PictureFormat/heif``.
  package init(_ format: PictureFormat, _ options: Options = Options()) {
    codec = format == .avif ? ("av01", "av1C") : ("hvc1", "hvcC")
    brand = format == .avif ? "avis" : "hevc"
    self.options = options
  }

  /// - Parameters:
  ///   - frames: at least one, of one size.
  ///   - alpha: the transparency of each; empty for none.
  ///   - size: of each frame.
  /// - Returns: `nil` when a frame has another structure than libheif writes.
  package func file(
    _ frames: [[UInt8]], alpha: [[UInt8]] = [], size: (width: UInt16, height: UInt16)
  ) -> [UInt8]? {
    let pictures = (frames + alpha).compactMap {
      SinglePicture($0, configurationType: codec.configurationType)
    }
    guard pictures.count == frames.count + alpha.count, !frames.isEmpty else {
      return nil
    }
    let data = ISOBox.box("mdat", pictures.flatMap(\.data))
    let start = UInt32(head.count + ISOBox.headByteCount)
    let colours = Track(number: 1, handler: "pict", pictures: pictures.prefix(frames.count))
    let alphaTrack = Track(number: 2, handler: "auxv", pictures: pictures.dropFirst(frames.count))
    let alphaStart = start + UInt32(colours.pictures.reduce(0) { $0 + $1.data.count })
    var tracks = box(of: colours, at: start, size)
    if !alpha.isEmpty { tracks += box(of: alphaTrack, at: alphaStart, size) }
    return head + data + ISOBox.box("moov", movieHeader + tracks)
  }

  /// What comes before the frames: the still, or the type of the file.
  private var head: [UInt8] {
    guard var still = options.still else {
      return ISOBox.box("ftyp", Array(brand.utf8) + ISOBox.long(0) + Array("\(brand)msf1iso8".utf8))
    }
    still.replaceSubrange(8..<12, with: brand.utf8)
    return still
  }

  // MARK: - Tracks

  private struct Track {
    let number: UInt32
    let handler: String
    let pictures: ArraySlice<SinglePicture>
  }

  private func duration(of track: Track) -> UInt32 {
    UInt32(track.pictures.count) * options.delay
  }

  private var movieHeader: [UInt8] {
    let times =
      ISOBox.long(0) + ISOBox.long(0) + ISOBox.long(options.timescale) + ISOBox.long(0)
    return ISOBox.full("mvhd", times + [UInt8](repeating: 0, count: 80))
  }

  private func box(
    of track: Track, at start: UInt32, _ size: (width: UInt16, height: UInt16)
  ) -> [UInt8] {
    let isAlpha = track.handler == "auxv"
    let reference = ISOBox.box("tref", ISOBox.box("auxl", ISOBox.long(1)))
    let edit = ISOBox.full(
      "elst",
      ISOBox.long(1) + ISOBox.long(duration(of: track)) + ISOBox.long(0) + ISOBox.long(1 << 16),
      flags: options.repeats ? 1 : 0)
    return ISOBox.box(
      "trak",
      header(of: track, size) + (isAlpha ? reference : []) + ISOBox.box("edts", edit)
        + media(of: track, at: start, size))
  }

  private func header(of track: Track, _ size: (width: UInt16, height: UInt16)) -> [UInt8] {
    let duration = options.repeats ? UInt32.max : duration(of: track)
    let times = ISOBox.long(0) + ISOBox.long(0) + ISOBox.long(track.number) + ISOBox.long(0)
    let numbers = options.matrix.map { ISOBox.long(UInt32(bitPattern: $0 << 16)) }
    let matrix =
      numbers[0] + numbers[1] + ISOBox.long(0) + numbers[2] + numbers[3]
      + [UInt8](repeating: 0, count: 12) + ISOBox.long(1 << 30)
    let lengths = ISOBox.short(size.width) + ISOBox.short(0) + ISOBox.short(size.height)
    return ISOBox.full(
      "tkhd",
      times + ISOBox.long(duration) + [UInt8](repeating: 0, count: 16) + matrix + lengths
        + ISOBox.short(0))
  }

  private func media(
    of track: Track, at start: UInt32, _ size: (width: UInt16, height: UInt16)
  ) -> [UInt8] {
    let header = ISOBox.full(
      "mdhd",
      ISOBox.long(0) + ISOBox.long(0) + ISOBox.long(options.timescale)
        + ISOBox.long(duration(of: track)) + ISOBox.long(0))
    let handler = ISOBox.full(
      "hdlr", ISOBox.long(0) + Array(track.handler.utf8) + [UInt8](repeating: 0, count: 13))
    let table = ISOBox.box("stbl", descriptions(of: track, size) + places(of: track, at: start))
    return ISOBox.box("mdia", header + handler + ISOBox.box("minf", table))
  }

  private func descriptions(of track: Track, _ size: (width: UInt16, height: UInt16)) -> [UInt8] {
    let lengths = ISOBox.short(size.width) + ISOBox.short(size.height)
    let fields =
      [UInt8](repeating: 0, count: 7) + [1] + [UInt8](repeating: 0, count: 16) + lengths
      + [UInt8](repeating: 0, count: 50)
    let kind = ISOBox.full("auxi", Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha".utf8) + [0])
    let entry = ISOBox.box(
      options.sampleType ?? codec.sampleType,
      fields + (track.pictures.first?.configuration ?? [])
        + options.transformations.flatMap { ISOBox.box($0.type, $0.content) }
        + (track.handler == "auxv" ? kind : []))
    return ISOBox.full("stsd", ISOBox.long(1) + entry)
  }

  /// Chunks of three samples, the last of them with what is left.
  private func places(of track: Track, at start: UInt32) -> [UInt8] {
    let sizes = track.pictures.map { UInt32($0.data.count) }
    let firsts = stride(from: 0, to: sizes.count, by: 3)
    let offsets = firsts.map { start + sizes[..<$0].reduce(0, +) }
    let rest = sizes.count - (firsts.map { $0 }.last ?? 0)
    let runs = [(1, 3), (offsets.count, rest)].suffix(offsets.count)
    return ISOBox.full(
      "stts", ISOBox.long(1) + ISOBox.long(UInt32(sizes.count)) + ISOBox.long(options.delay))
      + ISOBox.full(
        "stsc",
        ISOBox.long(UInt32(runs.count))
          + runs.flatMap { run in
            ISOBox.long(UInt32(run.0)) + ISOBox.long(UInt32(run.1))
              + ISOBox.long(options.descriptionNumber)
          })
      + ISOBox.full(
        "stsz",
        ISOBox.long(0) + ISOBox.long(UInt32(sizes.count)) + sizes.flatMap { ISOBox.long($0) })
      + ISOBox.full(
        "stco", ISOBox.long(UInt32(offsets.count)) + offsets.flatMap { ISOBox.long($0) })
  }
}

/// A box of the ISO base media file format: its length, its type, its content.
struct ISOBox {
  static let headByteCount = 8
  /// Version and flags, with which the content of a full box begins.
  static let fullHeadByteCount = 4

  let whole: ArraySlice<UInt8>
  var content: ArraySlice<UInt8> { whole.dropFirst(Self.headByteCount) }

  /// The first box of that type among those that lie one behind the other.
  init?(_ type: String, in bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while rest.count >= Self.headByteCount {
      let byteCount = Self.number(rest.prefix(4))
      guard byteCount >= Self.headByteCount, byteCount <= rest.count else { return nil }
      if rest.dropFirst(4).prefix(4).elementsEqual(type.utf8) {
        whole = rest.prefix(byteCount)
        return
      }
      rest = rest.dropFirst(byteCount)
    }
    return nil
  }

  static func number(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  static func short(_ value: UInt16) -> [UInt8] {
    [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)]
  }

  static func long(_ value: UInt32) -> [UInt8] {
    short(UInt16(value >> 16)) + short(UInt16(truncatingIfNeeded: value))
  }

  static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    long(UInt32(headByteCount + content.count)) + Array(type.utf8) + content
  }

  static func full(
    _ type: String, _ content: [UInt8], version: UInt8 = 0, flags: UInt8 = 0
  ) -> [UInt8] {
    box(type, [version, 0, 0, flags] + content)
  }
}

/// A HEIF file of a picture and its preview, as cameras write it (ISO/IEC 23008-12 section 6.4.4), put
/// together from two files of one picture each.
package struct HEIFWithPreview {
  /// What the preview's clean aperture says (ISO/IEC 14496-12 section 12.1.4): which part of it is shown.
  package struct Aperture: Sendable {
    /// Fractions: numerator and denominator.
    let width, height, leftOffset: (UInt32, UInt32)

    /// - Parameter leftOffset: how far its centre lies to the right of the preview's.
    package init(
      width: (UInt32, UInt32), height: (UInt32, UInt32), leftOffset: (UInt32, UInt32) = (0, 1)
    ) {
      (self.width, self.height, self.leftOffset) = (width, height, leftOffset)
    }
  }

  /// The whole file.
  package let bytes: [UInt8]

  /// - Parameters:
  ///   - picture: a file of ``PictureFormat/heif``, as `preview` is.
  ///   - aperture: `nil` for a preview that is shown whole.
  ///   - properties: boxes that describe the picture.
  /// - Returns: `nil` when one of them has another structure.
  package init?(
    picture: [UInt8], preview: [UInt8], aperture: Aperture? = nil, properties: [[UInt8]] = []
  ) {
    let shown = aperture.map { aperture in
      let numbers = [aperture.width, aperture.height, aperture.leftOffset, (0, 1)]
      return ISOBox.box("clap", numbers.flatMap { ISOBox.long($0.0) + ISOBox.long($0.1) })
    }
    guard let picture = HEIFWriter.Item(picture, .heif, properties),
      let preview = HEIFWriter.Item(preview, .heif, shown.map { [$0] } ?? [])
    else { return nil }
    bytes = HEIFWriter([picture, preview], [.init("thmb", from: 2, to: [1])]).bytes
  }
}

/// The parts of a file that libheif has written.
struct SinglePicture {
  let fileType, handler, configuration, extents, data: [UInt8]

  /// - Parameter configurationType: of the box that configures the codec.
  init?(_ file: [UInt8], configurationType: String = "hvcC") {
    guard let fileType = ISOBox("ftyp", in: file[...]), let meta = ISOBox("meta", in: file[...]),
      case let parts = meta.content.dropFirst(ISOBox.fullHeadByteCount),
      let handler = ISOBox("hdlr", in: parts), let locations = ISOBox("iloc", in: parts),
      let properties = ISOBox("iprp", in: parts).flatMap({ ISOBox("ipco", in: $0.content) }),
      let configuration = ISOBox(configurationType, in: properties.content),
      let extents = ISOBox("ispe", in: properties.content),
      let range = Self.firstItem(in: Array(locations.content)), range.upperBound <= file.count
    else { return nil }
    self.fileType = Array(fileType.whole)
    self.handler = Array(handler.whole)
    self.configuration = Array(configuration.whole)
    self.extents = Array(extents.whole)
    data = Array(file[range])
  }

  /// Where the first item's data lies: a base offset, and one extent behind it.
  private static func firstItem(in locations: [UInt8]) -> Range<Int>? {
    guard locations.count >= 26, locations[4] == 0x44, locations[5] == 0x40,
      ISOBox.number(locations[16..<18]) == 1
    else { return nil }
    let start = ISOBox.number(locations[12..<16]) + ISOBox.number(locations[18..<22])
    return start..<start + ISOBox.number(locations[22..<26])
  }
}
