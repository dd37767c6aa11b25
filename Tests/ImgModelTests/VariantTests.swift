import FoundationEssentials
import ImgModel
import Testing

@Suite struct VariantTests {
  /// One variant for each thing that can differ from the default.
  private static func variants() throws -> [Variant] {
    let crops: [ImageVariant.Crop] = [
      .centre, .attention, .entropy, .point(x: 0, y: 1), .point(x: 0.25, y: 1),
    ]
    let frames: [ImageVariant.Frames] = [
      .number(0), .number(1), .time(.zero), .time(.milliseconds(1)), .poster, .all,
    ]
    let changes: [(inout ImageVariant) -> Void] =
      [
        { _ in }, { $0.width = 257 }, { $0.height = 257 }, { $0.mode = .fill },
        { $0.mode = .fillDown }, { $0.mode = .auto }, { ($0.mode, $0.crop) = (.auto, .centre) },
        { $0.mode = .stretch }, { $0.mode = .stretchDown }, { $0.mode = .ownSize },
        { $0.enlarges = true }, { $0.format = .png }, { $0.format = .compatible },
        { $0.quality = 81 }, { $0.depth = .sixteen }, { $0.embeddedUse = .always },
        { $0.embeddedUse = .never },
        { $0.keptData.profile = true }, { $0.keptData.metadata = true },
        { $0.keptData.copyright = true }, { $0.sizing = Sizing(density: 0.5) },
        { $0.sizing = Sizing(maximumPixelCount: 9) },
        { $0.sizing = Sizing(keepsDrawingSize: true) }, { $0.effects.isGrayscale = true },
        { $0.effects.blur = 1 }, { $0.effects.sharpen = 1 }, { $0.effects.radius = 1 },
        { $0.effects.padding = 1 },
        {
          $0.effects.sharpen = 1
          $0.effects.sharpenAmounts = SharpenAmounts(flat: 1, edges: 1)
        },
        { $0.effects.background = .white },
        { $0.effects.background = RGBColour(red: 0, green: 0, blue: 1) },
      ] + crops.map { crop in { ($0.mode, $0.crop) = (.fill, crop) } }
      + frames.map { frames in { $0.frames = frames } }
    return try changes.map { try Variant.standard.changed($0) }
  }

  @Test func `different variants have different canonical texts`() throws {
    let variants = try Self.variants()
    #expect(Set(variants.map(\.canonicalText)).count == variants.count)
  }

  @Test func `what is the default is not in the canonical text`() throws {
    #expect(Variant.standard.canonicalText == "256x256,fit,whole,auto,q80")
    let crop = try Variant(
      ImageVariant(width: 9, height: 8, mode: .fill, crop: .centre, format: .webp))
    #expect(crop.canonicalText == "9x8,fill,crop,webp,q80")
  }

  @Test(
    arguments: [
      (.fit, "fit,whole"), (.fill, "fill,whole"), (.fillDown, "fill-down,crop"),
      (.auto, "auto,whole"), (.stretch, "stretch,whole"), (.stretchDown, "stretch-down,whole"),
      (.ownSize, "own-size,whole"),
    ] as [(ImageVariant.Mode, String)])
  func `the canonical text names the mode`(mode: ImageVariant.Mode, text: String) throws {
    let variant = try Variant(ImageVariant(width: 9, height: 8, mode: mode))
    #expect(variant.canonicalText == "9x8,\(text),auto,q80")
  }

  @Test func `the rules of a size are behind what is not the default`() throws {
    let sizing = Sizing(
      density: Thousandths(count: 1_500), maximumPixelCount: 100, keepsDrawingSize: true)
    let variant = try Variant.standard.changed {
      ($0.width, $0.height, $0.enlarges, $0.sizing) = (9, 8, true, sizing)
      $0.keptData.copyright = true
    }
    #expect(
      variant.canonicalText
        == "9x8,fit,whole,auto,q80,enlarge,density=1.5,pixels=100,drawing=own,copyright")
    #expect((variant.largestWidth, variant.largestHeight) == (14, 12))
  }

  @Test func `a box with its density has a limit, too`() throws {
    let double = try Variant.standard.changed { $0.sizing = Sizing(density: 2) }
    #expect(throws: VariantError.sideOutOfRange) { try double.changed { $0.width = 9_000 } }
    // The box of a picture in its own size is the limit of its thumbnail.
    #expect(throws: Never.self) {
      try double.changed { ($0.width, $0.mode) = (9_000, .ownSize) }
    }
    for sizing in [Sizing(density: .zero), Sizing(maximumPixelCount: 0)] {
      #expect(throws: VariantError.sizingOutOfRange) { try double.changed { $0.sizing = sizing } }
    }
  }

  @Test func `numbers out of range are refused`() {
    #expect(throws: VariantError.sideOutOfRange) { try Variant(ImageVariant(width: 0, height: 1)) }
    #expect(throws: VariantError.sideOutOfRange) {
      try Variant(ImageVariant(width: 1, height: 16_384))
    }
    #expect(throws: VariantError.qualityOutOfRange) {
      try Variant(ImageVariant(width: 1, height: 1, quality: 101))
    }
    for frames in [
      ImageVariant.Frames.number(-1), .number(1_000_000), .time(.milliseconds(-1)),
      .time(.milliseconds(86_400_001)),
    ] {
      #expect(throws: VariantError.frameOutOfRange) {
        try Variant(ImageVariant(width: 1, height: 1, frames: frames))
      }
    }
    for effects in [
      ImageVariant.Effects(blur: 100.001), ImageVariant.Effects(blur: -1),
      ImageVariant.Effects(blur: Thousandths(.nan)), ImageVariant.Effects(sharpen: 1e30),
      ImageVariant.Effects(radius: 16_384), ImageVariant.Effects(radius: -1),
    ] {
      #expect(throws: VariantError.effectOutOfRange) {
        try Variant(ImageVariant(width: 1, height: 1, effects: effects))
      }
    }
    for (side, padding) in [(1, -1), (1, 1_001), (16_382, 1)] {
      let effects = ImageVariant.Effects(padding: padding)
      #expect(throws: VariantError.paddingOutOfRange) {
        try Variant(ImageVariant(width: side, height: 1, effects: effects))
      }
    }
  }

  @Test func `16 bits need a format that holds them, and one frame`() throws {
    for format in ImageVariant.Format.allCases {
      let variant = ImageVariant(width: 1, height: 1, format: format, depth: .sixteen)
      if [.auto, .compatible, .png, .avif].contains(format) {
        #expect(try Variant(variant).inEightBits == Variant(ImageVariant(size: 1, format: format)))
      } else {
        #expect(throws: VariantError.shallowFormat(format)) { try Variant(variant) }
      }
    }
    #expect(throws: VariantError.shallowAnimation) {
      try Variant.standard.changed { ($0.depth, $0.frames) = (.sixteen, .all) }
    }
  }

  @Test(arguments: [(-0.001, 0), (0, 1.001), (.infinity, 0), (0, .nan)] as [(Double, Double)])
  func `the point of a crop is in the picture`(x: Double, y: Double) {
    let crop = ImageVariant.Crop.point(x: Thousandths(x), y: Thousandths(y))
    #expect(throws: VariantError.cropOutOfRange) {
      try Variant(ImageVariant(size: 1, mode: .fill, crop: crop))
    }
  }

  @Test func `what means the same is equal once it is checked`() throws {
    let plain = Variant.standard
    #expect(
      try plain.changed { $0.effects.sharpenAmounts = SharpenAmounts(flat: 1, edges: 1) } == plain)
    let metadata = try plain.changed { $0.keptData.metadata = true }
    #expect(try metadata.changed { $0.keptData.copyright = true } == metadata)
    let time = try plain.changed { $0.frames = .time(.milliseconds(1)) }
    #expect(try plain.changed { $0.frames = .time(.microseconds(1_400)) } == time)
  }

  @Test(arguments: ImageVariant.Mode.allCases)
  func `a crop needs a mode that covers the box`(mode: ImageVariant.Mode) throws {
    if [.fill, .fillDown, .auto].contains(mode) {
      let variant = try Variant(ImageVariant(width: 1, height: 1, mode: mode, crop: .attention))
      #expect(variant.crop == .attention)
    } else {
      #expect(throws: VariantError.cropWithoutFill) {
        try Variant(ImageVariant(width: 1, height: 1, mode: mode, crop: .attention))
      }
    }
  }

  @Test func `fill-down without a crop keeps the centre`() throws {
    let named = try Variant(ImageVariant(width: 9, height: 8, mode: .fillDown, crop: .centre))
    #expect(try Variant(ImageVariant(width: 9, height: 8, mode: .fillDown)) == named)
    let json = #"{"format":"auto","height":8,"mode":"fill-down","quality":80,"width":9}"#
    #expect(try JSONDecoder().decode(Variant.self, from: Data(json.utf8)) == named)
  }

  @Test func `a format of one frame holds no animation`() throws {
    for format in [ImageVariant.Format.jpeg, .png, .avif] {
      #expect(throws: VariantError.stillFormat(format)) {
        try Variant(ImageVariant(width: 1, height: 1, format: format, frames: .all))
      }
      let animation = try Variant(ImageVariant(width: 1, height: 1, frames: .all))
      #expect(throws: VariantError.stillFormat(format)) {
        try animation.changed { $0.format = format }
      }
      #expect(try animation.changed { $0.format = .gif }.format == .gif)
    }
  }

  // MARK: - JSON

  @Test func `a variant comes back from JSON as it was`() throws {
    for variant in try Self.variants() {
      let json = try JSONEncoder().encode(variant)
      #expect(try JSONDecoder().decode(Variant.self, from: json) == variant)
    }
  }

  @Test func `defaults are not in the JSON`() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let json = String(decoding: try encoder.encode(Variant.standard), as: UTF8.self)
    #expect(json == #"{"format":"auto","height":256,"mode":"fit","quality":80,"width":256}"#)
  }

  @Test(arguments: [(true, ImageVariant.Crop.centre), (false, nil)])
  func `an earlier journal's crop is a Boolean`(isCropped: Bool, crop: ImageVariant.Crop?) throws {
    let json = #"""
      {"crop":\#(isCropped),"format":"png","height":9,"mode":"fill","quality":80,"width":7}
      """#
    let variant = try JSONDecoder().decode(Variant.self, from: Data(json.utf8))
    #expect(
      try variant
        == Variant(ImageVariant(width: 7, height: 9, mode: .fill, crop: crop, format: .png)))
  }

  @Test(arguments: [
    #""crop":"left""#, #""crop":"2,0""#, #""blur":"-1""#, #""background":"12345""#,
    #""frame":1,"poster":true"#, #""frame":-1"#, #""thumb":"sometimes""#, #""radius":20000"#,
    #""padding":-1"#, #""depth":10"#, #""depth":"16""#, #""depth":16,"animated":true"#,
  ])
  func `JSON of no variant is refused`(wrong: String) {
    let json = #"{"format":"auto","height":9,"mode":"fill","quality":80,"width":7,\#(wrong)}"#
    #expect(throws: (any Error).self) {
      try JSONDecoder().decode(Variant.self, from: Data(json.utf8))
    }
  }
}

/// The texts of a variant's parts, which people write and keys of the store contain.
@Suite struct VariantTextTests {
  @Test(arguments: [
    ("0", 0, "0"), ("2", 2_000, "2"), ("0.25", 250, "0.25"), (".5", 500, "0.5"), ("1.", 1_000, "1"),
    ("1.050", 1_050, "1.05"), ("999999.999", 999_999_999, "999999.999"),
  ])
  func `a number has up to three decimals, and one text`(
    text: String, count: Int, canonical: String
  ) throws {
    let number = try #require(Thousandths(text))
    #expect(number.count == count)
    #expect(number.description == canonical)
    #expect(Thousandths(canonical) == number)
  }

  @Test(arguments: ["", ".", "-1", "+1", "1e3", "0.1234", "1.2.3", " 1", "1000000", "nan", "١"])
  func `what is no such number is refused`(text: String) {
    #expect(Thousandths(text) == nil)
  }

  @Test(arguments: [
    ("ff8800", "ff8800"), ("#FF8800", "ff8800"), ("f80", "ff8800"), ("white", "ffffff"),
    ("black", "000000"), ("#00f", "0000ff"),
  ])
  func `a colour is a name or hexadecimal digits`(text: String, canonical: String) throws {
    let colour = try #require(RGBColour(text))
    #expect(colour.description == canonical)
    #expect(RGBColour(canonical) == colour)
  }

  @Test(arguments: ["", "#", "ff88", "ff88000", "gg8800", "white ", "#white", "+f8800"])
  func `what is no colour is refused`(text: String) {
    #expect(RGBColour(text) == nil)
  }

  @Test(arguments: [
    ("centre", ImageVariant.Crop.centre), ("center", .centre), ("attention", .attention),
    ("entropy", .entropy),
    ("0,1", .point(x: .zero, y: .one)),
    ("0.5,.25", .point(x: Thousandths(count: 500), y: Thousandths(count: 250))),
  ])
  func `a crop is a word or a point`(text: String, crop: ImageVariant.Crop) {
    #expect(ImageVariant.Crop(text) == crop)
    #expect(ImageVariant.Crop(crop.description) == crop)
  }

  @Test(arguments: ["", "left", "0.5", "1.001,0", "0,2", "0,0,0", "0, 0", "-0,0"])
  func `what is no part of a picture is refused`(text: String) {
    #expect(ImageVariant.Crop(text) == nil)
  }
}

@Suite struct ImageFormatTests {
  @Test(
    arguments: [
      ("a.jpg", .jpeg), ("a.JPEG", .jpeg), ("a.jpe", .jpeg), ("a.jfif", .jpeg),
      ("/srv/b.c/a.b.png", .png), ("a.WebP", .webp), ("a.avif", .avif), ("a.gif", .gif),
      ("a.tif", .tiff), ("a.heic", .heif), ("a.jxl", .jxl), ("a.svgz", .svg), ("a.j2k", .jp2),
      ("a.bmp", .bmp), ("a.DIB", .bmp), ("favicon.ico", .ico), ("a.cur", .ico), ("a.PPM", .pnm),
      ("a.pam", .pnm),
      ("a", nil), ("a.", nil), ("a.txt", nil), (".png", nil), ("b.png/a", nil), ("", nil),
      ("b/.png", nil), ("png", nil), ("a.png ", nil),
    ] as [(String, ImageFormat?)])
  func `the extension of a file name selects the format`(name: String, format: ImageFormat?) {
    #expect(ImageFormat(extensionOf: name) == format)
  }

  @Test func `each format is selected by its own extension`() {
    for format in ImageFormat.allCases {
      #expect(ImageFormat(extensionOf: "a.\(format.fileExtension)") == format)
    }
  }

  @Test func `thumbnails can be JPEG, PNG, WebP, GIF or AVIF`() {
    let formats = ImageFormat.allCases.compactMap(ImageVariant.Format.init)
    #expect(formats == [.jpeg, .png, .webp, .gif, .avif])
  }
}

/// The names of pictures.
@Suite(.timeLimit(.minutes(20))) struct PictureNameTests {
  @Test(arguments: [
    ("http://h/a?b=1&c=2", ["b"], "http://h/a?c=2"),
    ("http://h/a?b=1&c=2", ["c"], "http://h/a?b=1"),
    ("http://h/a?c=2&b=1&a=0", ["b"], "http://h/a?c=2&a=0"),
    ("http://h/a?b=1", ["b"], "http://h/a"),
    ("http://h/a?b", ["b"], "http://h/a"),
    ("http://h/a?b=1&b=2&c", ["b"], "http://h/a?c"),
    ("http://h/a?b=1&c=b=1", ["b"], "http://h/a?c=b=1"),
    ("http://h/a?bb=1", ["b"], "http://h/a?bb=1"),
    ("http://h/a?B=1", ["b"], "http://h/a?B=1"),
    ("http://h/a?%62=1", ["b"], "http://h/a?%62=1"),
    ("http://h/a?%62=1", ["%62"], "http://h/a"),
    ("http://h/a?", ["b"], "http://h/a"),
    ("http://h/a", ["b"], "http://h/a"),
    ("http://h/a?&&b=1&", ["b"], "http://h/a?&&"),
    ("http://h?b=1", ["b"], "http://h"),
    ("http://h/a?b=1?c=2&d", ["b"], "http://h/a?d"),
    ("http://h/?ü=1&é=2", ["ü"], "http://h/?%C3%A9=2"),
    ("http://h/?%C3%BC=1&{v}=2&b", ["ü*", "{v}"], "http://h/?b"),
    ("http://h/a?X-Amz-Date=1&X-Amz-Signature=2&v=3", ["X-Amz-*"], "http://h/a?v=3"),
    ("http://h/a?X-Amz-=1&X-Amz=2", ["X-Amz-*"], "http://h/a?X-Amz=2"),
    ("http://h/a?x-amz-date=1", ["X-Amz-*"], "http://h/a?x-amz-date=1"),
    ("http://h/a?b=1&c=2", ["*"], "http://h/a"),
    ("http://h/a?utm_source=1&v=2&token=3", ["utm_*", "token"], "http://h/a?v=2"),
    ("http://h/a?abcabd=1&abcab=2", ["*abd"], "http://h/a?abcab=2"),
    ("http://h/a?axbxc=1&abc=2&ab=3", ["a*b*c"], "http://h/a?ab=3"),
    ("http://h/a?b=1", [], "http://h/a?b=1"),
    ("http://h/a?", [], "http://h/a?"),
  ])
  func `ignored parameters are not in the name and the others are unchanged`(
    url: String, patterns: [String], name: String
  ) throws {
    let options = FetchOptions(ignoredQuery: try QueryFilter(patterns))
    #expect(options.name(of: try ImageURL(parsing: url)).text == name)
  }

  @Test func `what is sent to a URL's host alone is in its pictures' names alone`() throws {
    let field = try HeaderField(name: "authorization", value: "secret", onlyTo: "h")
    let options = FetchOptions(headers: try HeaderFields([field]), referer: .ownOrigin)
    func fields(of url: String) throws -> [String] {
      options.name(of: try ImageURL(parsing: url)).headers.map { "\($0.name): \($0.value)" }
    }
    #expect(try fields(of: "http://h:81/a") == ["authorization: secret", "referer: http://h:81/"])
    #expect(try fields(of: "https://g/a") == ["referer: https://g/"])
    // As curl(1) does it, a URL's own password counts before that of its host.
    #expect(try fields(of: "http://a:b@h/a") == ["referer: http://h/"])
    #expect(try fields(of: "data:,") == [])
    #expect(options.forOtherOrigin == options)
    // No redirect can send what the name does not tell of.
    for (url, isOfHost) in [
      ("http://h:81/a", true), ("http://g/a", false), ("http://a:b@h/", false),
    ] {
      let narrowed = options.narrowed(to: try ImageURL(parsing: url))
      #expect(narrowed.headers == (isOfHost ? options.headers : .none))
    }
  }

  @Test func `the query filter does not apply to a data URL`() throws {
    let url = try ImageURL(parsing: "data:image/svg+xml,<svg?b=1&c=2/>")
    let options = FetchOptions(ignoredQuery: try QueryFilter(["*"]))
    #expect(options.name(of: url).text == url.text)
  }

  @Test(arguments: ["", "a b", "a&b", "a=b", "a#b", "a\n", String(repeating: "a", count: 257)])
  func `a pattern that matches no parameter is refused`(pattern: String) {
    #expect(throws: InvalidFetchOption.self) { try QueryFilter([pattern]) }
    let json = try? JSONEncoder().encode([pattern])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(QueryFilter.self, from: try #require(json))
    }
  }

  @Test func `patterns are a set of limited size`() throws {
    #expect(try QueryFilter(["b", "a", "b"]) == QueryFilter(["a", "b"]))
    #expect(throws: InvalidFetchOption.self) { try QueryFilter((0...32).map { "a\($0)" }) }
  }

  @Test func `a cache key replaces the URL, but not the headers`() throws {
    let headers = try HeaderFields([HeaderField(name: "a", value: "b")])
    let options = FetchOptions(headers: headers, cacheKey: try CacheKey("photo-17"))
    let name = options.name(of: try ImageURL(parsing: "http://h/a?b=1"))
    #expect(name == PictureName(text: "photo-17", headers: Array(headers)))
  }

  @Test(arguments: ["", "a b", "a\n", "a\0b", String(repeating: "a", count: 8_193)])
  func `a cache key with spaces or control characters is refused`(key: String) {
    #expect(throws: InvalidFetchOption.self) { try CacheKey(key) }
  }

  @Test(arguments: [
    ("http://h/a", "http://h"), ("HTTPS://u:p@H:81/a?b", "https://h:81"),
    ("http://[::1]:80?a", "http://[::1]:80"), ("data:,a", ""),
  ])
  func `the origin of a URL is scheme, host and port`(url: String, origin: String) throws {
    #expect(try ImageURL(parsing: url).origin == origin)
  }
}
