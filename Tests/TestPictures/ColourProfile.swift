/// Colour profiles (ICC.1) made for tests: as small as a reader takes them.
package enum ColourProfile {
  /// A gray profile with a tone curve of that power.
  package static func gray(gamma: Double) -> [UInt8] {
    let curve = tag("curv") + number(1, 4) + number(Int(gamma * 256), 2) + [0, 0]
    return profile(space: "GRAY", connection: "XYZ ", tags: [("wtpt", white), ("kTRC", curve)])
  }

  /// An RGB profile that has a table for the perceptual intent alone, and in it takes red for blue and
  /// blue for red.
  package static var swappedPerceptual: [UInt8] {
    let ramp = (0...255).map { UInt8($0) }
    let ramps = ramp + ramp + ramp
    // The corners of the cube in CIE L*a*b*, blue counting fastest: L* is stored times 2.55, a* and b*
    // plus 128. Where blue is said, the values are those of red, and the other way round.
    let corners: [[UInt8]] = [
      [0, 128, 128], [138, 209, 198], [224, 49, 209], [249, 112, 221],
      [75, 196, 16], [153, 222, 68], [231, 77, 113], [255, 128, 128],
    ]
    let identity = [1, 0, 0, 0, 1, 0, 0, 0, 1].flatMap { number($0 << 16, 4) }
    let table =
      tag("mft1") + [3, 3, 2, 0] + identity + ramps + corners.flatMap(\.self) + ramps
    return profile(space: "RGB ", connection: "Lab ", tags: [("wtpt", white), ("A2B0", table)])
  }

  /// The white of the connection space, D50.
  private static var white: [UInt8] {
    tag("XYZ ") + number(0xF6D6, 4) + number(0x10000, 4) + number(0xD32D, 4)
  }

  private static func profile(
    space: String, connection: String, tags: [(name: String, data: [UInt8])]
  ) -> [UInt8] {
    let tableByteCount = 4 + 12 * tags.count
    var table = number(tags.count, 4)
    var data: [UInt8] = []
    for (name, content) in tags {
      table +=
        Array(name.utf8) + number(128 + tableByteCount + data.count, 4) + number(content.count, 4)
      data += content + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
    }
    let size = 128 + tableByteCount + data.count
    var header = number(size, 4) + Array("lcms".utf8) + [2, 0x40, 0, 0]
    header += Array("mntr".utf8) + Array(space.utf8) + Array(connection.utf8)
    header += [UInt8](repeating: 0, count: 12) + Array("acsp".utf8)
    header += [UInt8](repeating: 0, count: 28)
    header += number(0xF6D6, 4) + number(0x10000, 4) + number(0xD32D, 4)
    header += [UInt8](repeating: 0, count: 128 - header.count)
    return header + table + data
  }

  private static func tag(_ type: String) -> [UInt8] {
    Array(type.utf8) + [0, 0, 0, 0]
  }

  /// A number of so many bytes, the most significant first.
  private static func number(_ value: Int, _ byteCount: Int) -> [UInt8] {
    (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}
