import ImgFacts
import ImgModel

/// The tables that say where the samples of AVIF and HEIC sequences lie.
extension FuzzTarget {
  static let sequences = [
    FuzzTarget("sequence-tables", seeds: [sequence(in: "av01"), sequence(in: "hvc1")]) { file in
      guard let sequence = try? SequenceFile(WholeBytes(file), as: .heif)?.sequence() else {
        return
      }
      precondition(sequence.frameCount > 0, "a sequence has no frame")
      precondition((1...8).contains(sequence.colours.orientation), "no such orientation")
      let colours = sequence.colours
      if let area = colours.shownArea {
        let isInside =
          area.left >= 0 && area.width > 0 && area.left <= colours.width - area.width
          && area.top >= 0 && area.height > 0 && area.top <= colours.height - area.height
        precondition(isInside, "pixels behind the edge are shown")
      }
      let alphaCount = sequence.alpha?.samples.count ?? sequence.frameCount
      precondition(alphaCount == sequence.frameCount, "a frame lacks its transparency")
    }
  ]

  private static func full(_ type: String, _ content: [UInt8]) -> [UInt8] {
    box(type, [0, 0, 0, 0] + content)
  }

  private static func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }

  /// Two tracks of two samples in one chunk each.
  private static func sequence(in codec: String) -> [UInt8] {
    box("ftyp", Array("msf1\0\0\0\0msf1".utf8))
      + box("moov", track(1, "pict", [], in: codec) + track(2, "auxv", [1], in: codec))
  }

  private static func track(
    _ number: UInt8, _ handler: String, _ references: [UInt8], in codec: String
  ) -> [UInt8] {
    let targets: [UInt8] = references.flatMap { [0, 0, 0, $0] as [UInt8] }
    let size: [UInt8] = [0, 64, 0, 0, 0, 64, 0, 0]
    return box(
      "trak",
      full("tkhd", zeros(8) + [0, 0, 0, number] + zeros(24) + [0, 1] + zeros(34) + size)
        + box("tref", box("auxl", targets))
        + box(
          "mdia",
          full("mdhd", zeros(8) + [0, 0, 3, 232] + zeros(8))
            + full("hdlr", zeros(4) + Array(handler.utf8) + zeros(13))
            + box("minf", box("stbl", table(in: codec)))))
  }

  private static func table(in codec: String) -> [UInt8] {
    let unit: [UInt8] = [0x21, 0, 1, 0, 2, 0x42, 1]
    let configuration = box("hvcC", zeros(21) + [3, 1] + unit)
    let kind = full("auxi", Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0".utf8))
    let numbers: [UInt8] = [32, 16, 8, 4]
    let aperture = box("clap", numbers.flatMap { [0, 0, 0, $0, 0, 0, 0, 1] as [UInt8] })
    let turn = box("irot", [1]) + box("imir", [0])
    let entry = box(
      codec, zeros(24) + [0, 64, 0, 64] + zeros(50) + configuration + aperture + turn + kind)
    return full("stsd", [0, 0, 0, 1] + entry)
      + full("stts", [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 100])
      + full("stsc", [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1])
      + full("stsz", [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 9])
      + full("stco", [0, 0, 0, 1, 0, 0, 0, 8])
  }
}
