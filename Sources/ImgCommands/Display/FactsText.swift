import ImgFacts
import ImgModel
import ImgSettings

/// The facts of a picture for people: aligned lines, the unknown ones left out.
struct FactsText {
  private let report: FactsReport
  private var facts: PictureFacts { report.facts }

  init(_ report: FactsReport) {
    self.report = report
  }

  /// All lines, each with a line feed.
  var text: String {
    let lines = lines.compactMap { name, value in value.map { (name, $0) } }
    let width = lines.map(\.0.count).max() ?? 0
    return lines.map { name, value in
      let space = String(repeating: " ", count: width - name.count)
      return "\(name)\(space)  \(HumanText.printable(value))\n"
    }.joined()
  }

  private var lines: [(String, String?)] {
    [
      ("type", [facts.mediaType, facts.encoding].compactMap(\.self).joined(separator: ", ")),
      ("declared", report.declaredType.map { "\($0), which is wrong" }),
      ("size", size), ("pictures", facts.pictureCount.map(String.init)), ("frames", frames),
      ("colour", colour), ("colour space", colourSpace),
      ("interlaced", facts.isInterlaced == true ? "yes" : nil),
      ("profile", facts.profileDescription), ("title", facts.xmp?.title),
      ("camera", camera), ("taken", facts.exif?.exif["DateTimeOriginal"]?.text),
      ("rights", facts.xmp?.rights ?? facts.exif?.ifd0["Copyright"]?.text), ("place", place),
      ("thumbnail", facts.thumbnail.map { "\($0.width)x\($0.height) \($0.format.rawValue)" }),
      ("thumbhash", report.record.pixels?.thumbHash.text),
      ("blurhash", report.record.pixels?.blurHash.text), ("colours", colours),
      ("pixels", report.record.pixelsFailure.map { "not decoded: \($0)" }),
      ("status", status), ("bytes", bytes),
    ]
  }

  private var size: String {
    let shown = "\(facts.width)x\(facts.height)"
    guard facts.orientation != 1 else { return shown }
    return shown
      + ", stored as \(facts.storedWidth)x\(facts.storedHeight) with orientation \(facts.orientation)"
  }

  private var frames: String? {
    guard let count = facts.frameCount else { return uncountedFrames }
    guard count > 1 || facts.isAnimated == true else { return nil }
    var parts = ["\(count)"]
    if let duration = facts.duration {
      parts.append(HumanText.exactDuration(milliseconds: duration))
    }
    return (parts + [loops].compactMap(\.self)).joined(separator: ", ")
  }

  private var loops: String? {
    guard facts.isAnimated == true else { return nil }
    return facts.loopCount.map {
      $0 == 0 ? "plays forever" : "plays " + HumanText.count($0, of: "time")
    }
  }

  /// An animation whose frames were not counted, with the option that counts them.
  private var uncountedFrames: String? {
    guard facts.isAnimated == true || counter != nil else { return nil }
    let state = facts.isAnimated == true ? "animated, not counted" : "not counted"
    let text = [state, loops].compactMap(\.self).joined(separator: ", ")
    return text + (counter.map { "; \($0) counts them" } ?? "")
  }

  private var counter: String? {
    switch facts.format {
    case .gif, .webp: report.record.status == .complete ? InfoCommand.full.flag : nil
    case .jxl where facts.isAnimated == true:
      report.record.pixelsFailure == nil ? InfoCommand.pixels.flag : nil
    default: nil
    }
  }

  private var colour: String? {
    var parts = [facts.colourModel?.rawValue].compactMap(\.self)
    if let bits = facts.bitsPerSample {
      parts.append("\(bits) bits" + (facts.bands.map { " x \($0)" } ?? ""))
    }
    if facts.hasAlpha == true { parts.append("alpha") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// What counts of the descriptions in the file.
  private var colourSpace: String? {
    guard let colours = facts.colours else { return nil }
    var parts = [colours.primaries, colours.transfer].compactMap(\.self)
    if let matrix = colours.matrix { parts.append("matrix \(matrix)") }
    if let range = colours.range { parts.append("\(range) range") }
    if let isHDR = colours.isHDR { parts.append(isHDR ? "HDR" : "SDR") }
    return (parts + ["by \(colours.origin.name)"]).joined(separator: ", ")
  }

  private var camera: String? {
    let names = ["Make", "Model"].compactMap { facts.exif?.ifd0[$0]?.text }
    return names.isEmpty ? nil : names.joined(separator: " ")
  }

  private var place: String? {
    guard let latitude = facts.gps?.latitude, let longitude = facts.gps?.longitude else {
      return nil
    }
    return "\(latitude), \(longitude)"
  }

  /// The most frequent first.
  private var colours: String? {
    guard let palette = report.record.pixels?.palette, !palette.isEmpty else { return nil }
    return palette.map { "\($0.colour.cssText) \(Int(($0.share * 100).rounded())) %" }
      .joined(separator: ", ")
  }

  private var status: String? {
    switch report.record.status {
    case .complete: nil
    case .truncated: "truncated: the file ends before its metadata or its last frame"
    case .damaged: "damaged: its metadata cannot be read to the end"
    case .limited: "limited: more bytes would be necessary for the rest"
    }
  }

  private var bytes: String? {
    let whole = report.record.byteCount.map { HumanText.size(Int64($0)) }
    let course: String? =
      switch report.isFromCache {
      case nil: nil
      case true?: "from the store"
      case false?: report.bytesFetched.map { "\(HumanText.size($0)) fetched" }
      }
    let parts = [whole, course].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}

extension ColourDescription.Origin {
  fileprivate var name: String {
    switch self {
    case .codePoints: "code points (CICP)"
    case .profile: "its profile"
    case .standard: "its mark as sRGB"
    case .gamma: "gAMA and cHRM"
    }
  }
}
