/// Writes boxes of ISO base media files, and HEIF files of them.
struct ISOMaker {
  static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    big(content.count + 8, 4) + ascii(type) + content
  }

  static func full(
    _ type: String, version: UInt8 = 0, flags: UInt8 = 0, _ content: [UInt8]
  ) -> [UInt8] {
    box(type, [version, 0, 0, flags] + content)
  }

  static func fileType(_ major: String, _ compatible: String...) -> [UInt8] {
    box("ftyp", ascii(major) + zeros(4) + compatible.flatMap { ascii($0) })
  }

  struct Item {
    let id: Int
    let type: String
    /// Places in the list of properties, beginning with 1.
    var properties: [UInt8] = []
    var data: [UInt8] = []
    /// Whether its data is in the box `idat`.
    var isInline = false
    var mediaType = ""
  }

  static func colour(_ primaries: Int, _ transfer: Int, _ matrix: Int, full: Bool) -> [UInt8] {
    box(
      "colr",
      ascii("nclx") + big(primaries, 2) + big(transfer, 2) + big(matrix, 2) + [full ? 0x80 : 0])
  }

  static func size(_ width: Int, _ height: Int) -> [UInt8] {
    full("ispe", big(width, 4) + big(height, 4))
  }

  static func av1(deep: Bool = false, twelve: Bool = false, gray: Bool = false) -> [UInt8] {
    let flags = (deep ? 0x40 : 0) | (twelve ? 0x20 : 0) | (gray ? 0x10 : 0)
    return box("av1C", [0x81, 0, UInt8(flags), 0])
  }

  static func hevc(bits: UInt8 = 8, gray: Bool = false) -> [UInt8] {
    box("hvcC", [1] + zeros(15) + [gray ? 0xFC : 0xFD, 0xF8 | (bits - 8), 0xF8] + zeros(4))
  }

  static func reference(_ type: String, from source: Int, to targets: Int...) -> [UInt8] {
    box(type, big(source, 2) + big(targets.count, 2) + targets.flatMap { big($0, 2) })
  }

  /// A file whose first item is the primary one.
  ///
  /// - Parameter padding: bytes between the boxes and the data of the items.
  static func file(
    brand: String = "avif", items: [Item], properties: [[UInt8]], references: [[UInt8]] = [],
    boxes: [UInt8] = [], padding: Int = 0
  ) -> [UInt8] {
    let type = fileType(brand, "mif1")
    let inline = items.filter(\.isInline).flatMap(\.data)
    let outside = items.filter { !$0.isInline }.flatMap(\.data)
    func meta(_ dataOffset: Int) -> [UInt8] {
      full(
        "meta",
        full("hdlr", zeros(4) + ascii("pict") + zeros(13)) + full("pitm", big(items[0].id, 2))
          + locations(items, dataOffset) + entries(items)
          + (references.isEmpty ? [] : full("iref", references.flatMap { $0 }))
          + box("iprp", box("ipco", properties.flatMap { $0 }) + associations(items))
          + (inline.isEmpty ? [] : box("idat", inline)))
    }
    let start = type.count + meta(0).count + boxes.count + padding + 8
    return type + meta(start) + boxes + box("mdat", zeros(padding) + outside)
  }

  private static func entries(_ items: [Item]) -> [UInt8] {
    full(
      "iinf",
      big(items.count, 2)
        + items.flatMap { item in
          full(
            "infe", version: 2,
            big(item.id, 2) + [0, 0] + ascii(item.type) + [0] + ascii(item.mediaType) + [0])
        })
  }

  private static func locations(_ items: [Item], _ dataOffset: Int) -> [UInt8] {
    var (outside, inline) = (dataOffset, 0)
    let entries = items.flatMap { item -> [UInt8] in
      let offset = item.isInline ? inline : outside
      if item.isInline { inline += item.data.count } else { outside += item.data.count }
      // In two extents where there is more than a byte.
      let first = item.data.count / 2
      return big(item.id, 2) + big(item.isInline ? 1 : 0, 2) + big(0, 2) + big(2, 2)
        + big(offset, 4) + big(first, 4) + big(offset + first, 4)
        + big(item.data.count - first, 4)
    }
    return full("iloc", version: 1, [0x44, 0x00] + big(items.count, 2) + entries)
  }

  private static func associations(_ items: [Item]) -> [UInt8] {
    full(
      "ipma",
      big(items.count, 4)
        + items.flatMap { big($0.id, 2) + [UInt8($0.properties.count)] + $0.properties })
  }

  /// A movie of one track.
  ///
  /// - Parameters:
  ///   - runs: of frames with their ticks, 600 a second.
  ///   - repeats: how often the edit list lets it play; 0 means forever.
  static func movie(runs: [(count: Int, ticks: Int)], repeats: Int?) -> [UInt8] {
    let ticks = runs.reduce(0) { $0 + $1.count * $1.ticks }
    let duration = repeats == 0 ? 0xFFFF_FFFF : ticks * (repeats ?? 1)
    let header = full(
      "tkhd",
      zeros(8) + big(1, 4) + zeros(4) + big(duration, 4) + zeros(52)
        + big(64 << 16, 4) + big(48 << 16, 4))
    let edits = repeats.map { _ in
      box("edts", full("elst", flags: 1, big(1, 4) + big(ticks, 4) + zeros(4) + big(1 << 16, 4)))
    }
    let times = full(
      "stts", big(runs.count, 4) + runs.flatMap { big($0.count, 4) + big($0.ticks, 4) })
    let fields = zeros(24) + big(64, 2) + big(48, 2) + zeros(50)
    let description = full("stsd", big(1, 4) + box("av01", fields + av1(deep: true)))
    let media =
      full("mdhd", zeros(8) + big(600, 4) + big(ticks, 4) + zeros(4))
      + full("hdlr", zeros(4) + ascii("pict") + zeros(13))
      + box("minf", box("stbl", description + times))
    let sound = box("trak", box("mdia", full("hdlr", zeros(4) + ascii("soun") + zeros(13))))
    return box("moov", sound + box("trak", header + (edits ?? []) + box("mdia", media)))
  }
}
