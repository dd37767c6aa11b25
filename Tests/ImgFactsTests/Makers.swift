/// Writes bits, the least significant of a byte first, as JPEG XL has them.
struct BitMaker {
  private(set) var bytes: [UInt8] = []
  private var count = 0

  mutating func add(_ value: Int, _ bitCount: Int) {
    for bit in 0..<bitCount {
      if count % 8 == 0 { bytes.append(0) }
      if value >> bit & 1 == 1 { bytes[count / 8] |= 1 << (count % 8) }
      count += 1
    }
  }
}

/// Writes the blocks of a GIF.
struct GIFMaker {
  static func file(width: Int = 20, height: Int = 10, _ blocks: [UInt8]...) -> [UInt8] {
    // A global table of eight colours.
    ascii("GIF89a") + little(width, 2) + little(height, 2) + [0x82, 0, 0] + zeros(24)
      + blocks.flatMap { $0 } + [0x3B]
  }

  static func frame(data: Int = 10, interlaced: Bool = false, localTable: Bool = false) -> [UInt8] {
    [0x2C] + little(1, 2) + little(2, 2) + little(8, 2) + little(4, 2)
      + [(interlaced ? 0x40 : 0) | (localTable ? 0x80 : 0)] + zeros(localTable ? 6 : 0) + [2]
      + subBlocks(zeros(data))
  }

  static func control(delay: Int, transparent: Bool = false) -> [UInt8] {
    [0x21, 0xF9, 4, transparent ? 1 : 0] + little(delay, 2) + [0, 0]
  }

  static func loop(_ count: Int, name: String = "NETSCAPE2.0") -> [UInt8] {
    [0x21, 0xFF, 11] + ascii(name) + [3, 1] + little(count, 2) + [0]
  }

  static func profile(_ bytes: [UInt8]) -> [UInt8] {
    [0x21, 0xFF, 11] + ascii("ICCRGBG1012") + subBlocks(bytes)
  }

  /// The packet has no lengths. Bytes behind it lead a decoder to the end, wherever it arrives.
  static func xmp(_ packet: String) -> [UInt8] {
    [0x21, 0xFF, 11] + ascii("XMP DataXMP" + packet) + [1] + (0...255).reversed() + [0]
  }

  static func comment(_ text: String) -> [UInt8] { [0x21, 0xFE] + subBlocks(ascii(text)) }

  private static func subBlocks(_ bytes: [UInt8]) -> [UInt8] {
    stride(from: 0, to: bytes.count, by: 255).flatMap { start in
      let part = bytes[start..<min(start + 255, bytes.count)]
      return [UInt8(part.count)] + part
    } + [0]
  }
}

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
  ///   - samples: where the frames lie in the file.
  static func movie(
    runs: [(count: Int, ticks: Int)], repeats: Int?, samples: [Range<Int>] = []
  ) -> [UInt8] {
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
      + box("minf", box("stbl", description + times + places(of: samples)))
    let sound = box("trak", box("mdia", full("hdlr", zeros(4) + ascii("soun") + zeros(13))))
    return box("moov", sound + box("trak", header + (edits ?? []) + box("mdia", media)))
  }

  /// Each sample is a chunk of its own.
  private static func places(of samples: [Range<Int>]) -> [UInt8] {
    guard !samples.isEmpty else { return [] }
    let count = big(samples.count, 4)
    return full("stsz", zeros(4) + count + samples.flatMap { big($0.count, 4) })
      + full("stsc", big(1, 4) + big(1, 4) + big(1, 4) + big(1, 4))
      + full("stco", count + samples.flatMap { big($0.lowerBound, 4) })
  }

  /// A JPEG 2000 file of a codestream.
  static func jp2(_ codestream: [UInt8], metadata: [UInt8] = []) -> [UInt8] {
    [0, 0, 0, 12] + ascii("jP  \r\n") + [0x87, 0x0A] + fileType("jp2 ", "jp2 ")
      + box(
        "jp2h",
        box("ihdr", big(10, 4) + big(20, 4) + big(4, 2) + [7, 7, 0, 0])
          + box("colr", [1, 0, 0] + big(16, 4))
          + box("cdef", big(1, 2) + big(3, 2) + big(1, 2) + big(0, 2)))
      + metadata + box("jp2c", codestream)
  }
}

/// Writes the segments of a JPEG. Behind the start of the scan follow no pixels.
struct JPEGMaker {
  static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    [0xFF, marker] + big(content.count + 2, 2) + content
  }

  static func frame(
    marker: UInt8 = 0xC0, bits: Int = 8, width: Int = 64, height: Int = 48,
    components: [UInt8] = [1, 2, 3]
  ) -> [UInt8] {
    segment(
      marker,
      [UInt8(bits)] + big(height, 2) + big(width, 2) + [UInt8(components.count)]
        + components.flatMap { [$0, 0x11, 0] })
  }

  static func file(_ segments: [UInt8]...) -> [UInt8] {
    [0xFF, 0xD8] + segments.flatMap { $0 } + segment(0xDA, [1, 1, 0, 0, 63, 0]) + [0, 0xFF, 0xD9]
  }

  static func exif(_ file: [UInt8]) -> [UInt8] { segment(0xE1, ascii("Exif\0\0") + file) }

  static func xmp(_ packet: String) -> [UInt8] {
    segment(0xE1, ascii("http://ns.adobe.com/xap/1.0/\0" + packet))
  }

  static func photoshop(iptc: [UInt8]) -> [UInt8] {
    let other = ascii("8BIM") + big(0x03ED, 2) + [2, 65, 66, 0] + big(3, 4) + [1, 2, 3, 0]
    let record = ascii("8BIM") + big(0x0404, 2) + [0, 0] + big(iptc.count, 4) + iptc
    return segment(0xED, ascii("Photoshop 3.0\0") + other + record)
  }

  static func dataset(_ record: UInt8, _ number: UInt8, _ value: [UInt8]) -> [UInt8] {
    [0x1C, record, number] + big(value.count, 2) + value
  }

  static func profile(_ part: [UInt8], number: UInt8 = 1, of count: UInt8 = 1) -> [UInt8] {
    segment(0xE2, ascii("ICC_PROFILE\0") + [number, count] + part)
  }
}

/// Writes PNG chunks. Their checksums are zeros, because facts do not depend on them.
struct PNGMaker {
  static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
    big(data.count, 4) + ascii(name) + data + zeros(4)
  }

  static func header(
    width: Int = 20, height: Int = 10, bits: UInt8 = 8, type: UInt8 = 2, interlaced: Bool = false
  ) -> [UInt8] {
    chunk("IHDR", big(width, 4) + big(height, 4) + [bits, type, 0, 0, interlaced ? 1 : 0])
  }

  static func frame(delay: (Int, Int)) -> [UInt8] {
    chunk("fcTL", zeros(20) + big(delay.0, 2) + big(delay.1, 2) + [0, 0])
  }

  static func file(header: [UInt8] = header(), _ chunks: [[UInt8]]) -> [UInt8] {
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + header + chunks.flatMap { $0 }
      + chunk("IEND", [])
  }

  /// zlib data (RFC 1950) that holds bytes as they are. Nothing checks its checksum before the end.
  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    [0x78, 0x01, 1] + little(bytes.count, 2) + little(~bytes.count, 2) + bytes + zeros(4)
  }
}

/// Writes colour profiles that have only a description (ICC.1).
struct ProfileMaker {
  /// As version 2 writes it.
  static func described(_ text: String) -> [UInt8] {
    profile(ascii("desc") + zeros(4) + big(text.utf8.count + 1, 4) + ascii(text) + zeros(80))
  }

  /// As version 4 writes it, by language.
  static func localized(_ texts: [(language: String, text: String)]) -> [UInt8] {
    var records: [UInt8] = []
    var strings: [UInt8] = []
    for (language, text) in texts {
      let units = text.utf16.flatMap { big(Int($0), 2) }
      records += ascii(language) + big(units.count, 4)
      records += big(16 + texts.count * 12 + strings.count, 4)
      strings += units
    }
    return profile(ascii("mluc") + zeros(4) + big(texts.count, 4) + big(12, 4) + records + strings)
  }

  private static func profile(_ tag: [UInt8]) -> [UInt8] {
    let tags = ascii("wtpt") + big(0, 4) + big(0, 4) + ascii("desc") + big(156, 4)
    let head = zeros(128) + big(2, 4)
    return head + tags + big(tag.count, 4) + tag
  }
}

/// Writes TIFF directories, for files and for EXIF metadata.
struct TIFFMaker {
  struct Entry {
    let tag: Int
    let type: Int
    let count: Int
    var values: [UInt8]

    static func short(_ tag: Int, _ values: Int...) -> Entry {
      Entry(tag: tag, type: 3, count: values.count, values: values.flatMap { little($0, 2) })
    }

    static func long(_ tag: Int, _ values: Int...) -> Entry {
      Entry(tag: tag, type: 4, count: values.count, values: values.flatMap { little($0, 4) })
    }

    static func text(_ tag: Int, _ text: String) -> Entry {
      Entry(tag: tag, type: 2, count: text.utf8.count + 1, values: ascii(text) + [0])
    }

    static func bytes(_ tag: Int, type: Int = 7, _ bytes: [UInt8]) -> Entry {
      Entry(tag: tag, type: type, count: bytes.count, values: bytes)
    }

    static func rational(_ tag: Int, type: Int = 5, _ values: (Int, Int)...) -> Entry {
      Entry(
        tag: tag, type: type, count: values.count,
        values: values.flatMap { little($0.0, 4) + little($0.1, 4) })
    }
  }

  /// Little-endian, with the directories one behind the other.
  ///
  /// - Parameters:
  ///   - directories: the first two are chained, and others are referred to by entries of the first
  ///     or a later one, whose value is their place in the list.
  ///   - references: tags whose values are places in the list.
  ///   - padding: bytes before the first directory.
  static func file(
    _ directories: [[Entry]], references: Set<Int> = [0x8769, 0x8825, 0xA005],
    chained: Int = 1, padding: Int = 0
  ) -> [UInt8] {
    var starts: [Int] = []
    var end = 8 + padding
    for entries in directories {
      starts.append(end)
      end += 6 + entries.count * 12 + entries.reduce(0) { $0 + outside($1).count }
    }
    var file = ascii("II") + [42, 0] + little(8 + padding, 4) + zeros(padding)
    for (index, entries) in directories.enumerated() {
      var data: [UInt8] = []
      let dataStart = starts[index] + 6 + entries.count * 12
      file += little(entries.count, 2)
      for var entry in entries {
        if references.contains(entry.tag) {
          entry.values = little(starts[Int(entry.values[0])], 4)
        }
        file += little(entry.tag, 2) + little(entry.type, 2) + little(entry.count, 4)
        if entry.values.count <= 4 {
          file += entry.values + zeros(4 - entry.values.count)
        } else {
          file += little(dataStart + data.count, 4)
          data += outside(entry)
        }
      }
      file += little(index + 1 < chained ? starts[index + 1] : 0, 4) + data
    }
    return file
  }

  private static func outside(_ entry: Entry) -> [UInt8] {
    entry.values.count <= 4 ? [] : entry.values + zeros(entry.values.count % 2)
  }
}

/// Writes the chunks of a WebP file.
struct WebPMaker {
  static func chunk(_ name: String, _ payload: [UInt8]) -> [UInt8] {
    ascii(name) + little(payload.count, 4) + payload + zeros(payload.count % 2)
  }

  static func file(_ chunks: [UInt8]...) -> [UInt8] {
    let body = chunks.flatMap { $0 }
    return ascii("RIFF") + little(body.count + 4, 4) + ascii("WEBP") + body
  }

  static func extended(flags: UInt8, width: Int = 20, height: Int = 10) -> [UInt8] {
    chunk("VP8X", [flags, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
  }

  static func lossy(width: Int = 20, height: Int = 10, data: Int = 0) -> [UInt8] {
    chunk(
      "VP8 ",
      [0x10, 0, 0, 0x9D, 0x01, 0x2A] + little(width, 2) + little(height, 2) + zeros(data))
  }

  static func lossless(width: Int = 20, height: Int = 10, hasAlpha: Bool = false) -> [UInt8] {
    chunk("VP8L", [0x2F] + little((width - 1) | (height - 1) << 14 | (hasAlpha ? 1 << 28 : 0), 4))
  }

  static func frame(duration: Int, data: Int = 10) -> [UInt8] {
    chunk("ANMF", zeros(12) + little(duration, 3) + [0] + lossy(data: data))
  }

  static func animation(loopCount: Int) -> [UInt8] {
    chunk("ANIM", zeros(4) + little(loopCount, 2))
  }
}
