import ImgFacts

/// Profiles for colours that a file describes without one: the form in which all else here, lcms and
/// what reads a thumbnail know them.
extension ICCProfile {
  /// The bytes of a profile of red, green and blue (ICC.1 sections 7 and 8.3.3).
  ///
  /// - Parameters:
  ///   - colorants: red, green and blue in CIE XYZ, adapted to D50.
  ///   - codePoints: what else says the same.
  static func rgb(
    _ colorants: Matrix3, _ curve: ToneCurve, codePoints: ColourCodePoints? = nil
  ) -> [UInt8] {
    let names = ["r", "g", "b"]
    var tags = zip(names, colorants.columns).map { name, light in
      Tag(name: name + "XYZ", data: xyz(light))
    }
    tags += names.map { Tag(name: $0 + "TRC", data: curve.data) }
    if let codePoints { tags.append(Tag(name: "cicp", data: codePoints.tagData)) }
    return profile(space: "RGB ", tags)
  }

  /// The bytes of a profile of gray (section 8.3.4).
  static func gray(_ curve: ToneCurve, codePoints: ColourCodePoints? = nil) -> [UInt8] {
    var tags = [Tag(name: "kTRC", data: curve.data)]
    if let codePoints { tags.append(Tag(name: "cicp", data: codePoints.tagData)) }
    return profile(space: "GRAY", tags)
  }

  private struct Tag {
    let name: String
    let data: [UInt8]
  }

  private static func xyz(_ light: SIMD3<Double>) -> [UInt8] {
    BigEndianBytes.tag("XYZ ")
      + [light.x, light.y, light.z].flatMap { BigEndianBytes.fixed($0) }
  }

  /// Text in English (section 10.15).
  private static func text(_ text: String) -> [UInt8] {
    let characters = text.utf16.flatMap { BigEndianBytes.number(Int($0), byteCount: 2) }
    return BigEndianBytes.tag("mluc") + BigEndianBytes.number(1) + BigEndianBytes.number(12)
      + Array("enUS".utf8) + BigEndianBytes.number(characters.count) + BigEndianBytes.number(28)
      + characters
  }

  private static func profile(space: String, _ described: [Tag]) -> [UInt8] {
    let tags =
      [
        Tag(name: "desc", data: text("Colours as the picture's file describes them")),
        Tag(name: "cprt", data: text("None")), Tag(name: "wtpt", data: xyz(RGBSpace.d50)),
      ] + described
    var table = BigEndianBytes.number(tags.count)
    var data: [UInt8] = []
    var places: [[UInt8]: Int] = [:]
    let start = 128 + 4 + 12 * tags.count
    for tag in tags {
      let place = places[tag.data] ?? start + data.count
      if places.updateValue(place, forKey: tag.data) == nil {
        data += tag.data + [UInt8](repeating: 0, count: (4 - tag.data.count % 4) % 4)
      }
      table +=
        Array(tag.name.utf8) + BigEndianBytes.number(place) + BigEndianBytes.number(tag.data.count)
    }
    return header(byteCount: start + data.count, space: space) + table + data
  }

  /// Section 7.2, of version 4.4, which has code points.
  private static func header(byteCount: Int, space: String) -> [UInt8] {
    var header = BigEndianBytes.number(byteCount) + [0, 0, 0, 0, 4, 0x40, 0, 0]
    header += Array("mntr".utf8) + Array(space.utf8) + Array("XYZ ".utf8)
    // A time, which the section asks for: that of the edition.
    header += [2022, 5, 1, 0, 0, 0].flatMap { BigEndianBytes.number($0, byteCount: 2) }
    header += Array("acsp".utf8) + [UInt8](repeating: 0, count: 24)
    // The intent: colours as they are, relative to white.
    header += BigEndianBytes.number(1)
    let d50 = RGBSpace.d50
    header += [d50.x, d50.y, d50.z].flatMap { BigEndianBytes.fixed($0) }
    return header + [UInt8](repeating: 0, count: 128 - header.count)
  }

  /// Where levels are those of linear light, or close to it: the curve, and the bytes of a profile of the
  /// same colours with the levels of sRGB; `nil` for other profiles.
  var evened: (curve: ToneCurve, profile: [UInt8])? {
    guard !hasTables, codePoints?.isHDR != true else { return nil }
    switch colourSpace {
    case .gray:
      guard let curve = ToneCurve(data(of: "kTRC")), curve.isUneven else { return nil }
      return (curve, Self.gray(.sRGB))
    case .rgb:
      let data = data(of: "rTRC")
      guard data == self.data(of: "gTRC"), data == self.data(of: "bTRC"),
        let curve = ToneCurve(data), curve.isUneven, let colorants
      else { return nil }
      return (curve, Self.rgb(colorants, .sRGB))
    case .cmyk, nil: return nil
    }
  }

  private var colorants: Matrix3? {
    var columns: [SIMD3<Double>] = []
    for name in ["rXYZ", "gXYZ", "bXYZ"] {
      let data = data(of: name)
      guard data.count >= 20 else { return nil }
      let numbers = BigEndianBytes(data)
      columns.append(
        SIMD3(numbers.fixed(at: 8), numbers.fixed(at: 12), numbers.fixed(at: 16)))
    }
    return Matrix3(columns)
  }

  /// ICC.1:2022 section 9.2.17; `nil` without that tag.
  var codePoints: ColourCodePoints? {
    let data = data(of: "cicp")
    guard data.count >= 12 else { return nil }
    return ColourCodePoints(
      primaries: Int(data[8]), transfer: Int(data[9]), matrix: Int(data[10]),
      isFullRange: data[11] != 0)
  }
}

extension ColourCodePoints {
  /// Section 10.3.
  fileprivate var tagData: [UInt8] {
    BigEndianBytes.tag("cicp")
      + [UInt8(clamping: primaries), UInt8(clamping: transfer), 0, isFullRange ? 1 : 0]
  }
}
