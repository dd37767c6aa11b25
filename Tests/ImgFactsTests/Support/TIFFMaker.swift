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
