/// The options of weserv's query that this server has.
enum WeservOption: String, CaseIterable {
  case url, w, h, dpr, fit, we, a, fpx, fpy
  case output, q, n, page
  case bg, blur, sharp, filt
  case fallback = "default"
  case maxage, filename
  // How the file is written, not what it shows: progressive scans, zlib's effort, PNG's filters, and how
  // JPEGs are loaded.
  case il, l, af, fsol

  /// - Parameter name: as in a query; weserv's synonyms count.
  init?(name: String) {
    self.init(rawValue: Self.synonyms[name] ?? name)
  }

  private static let synonyms = [
    "width": "w", "height": "h", "align": "a", "quality": "q", "level": "l", "pages": "n",
    "errorredirect": "default",
  ]

  /// All names, also the synonyms.
  static let names = allCases.map(\.rawValue) + synonyms.keys.sorted()

  /// Options of weserv that this server does not have.
  static let unsupportedNames: Set<String> = [
    "crop", "cx", "tbg", "cy", "cw", "ch", "precrop", "trim", "mask", "mtrim", "mbg", "shape",
    "strim", "flip", "flop", "ro", "or", "rbg", "cbg", "bri", "con", "gam", "mod", "hue", "sat",
    "tint",
    "sharpf", "sharpj", "start", "stop", "encoding", "ll", "lossless", "loop", "delay", "t",
  ]

  /// Whether a value switches an option off that this server does not have. The picture is the same.
  static func isOff(_ value: OptionValue) -> Bool {
    switch value.name {
    case "flip", "flop", "ro", "trim", "precrop", "ll", "lossless":
      ["0", "false"].contains(value.text)
    // The colour of what `fit=contain` adds.
    case "cbg": true
    default: false
    }
  }
}
