import FoundationEssentials
import ImgModel
import Testing

@Suite struct VariantTests {
  /// One variant for each thing that can differ from the default.
  private static func variants() throws -> [Variant] {
    let (width, height) = (256, 256)
    let effects = [
      Effects(isGrayscale: true), Effects(blur: .one), Effects(sharpen: .one), Effects(radius: 1),
      Effects(sharpen: .one, sharpenAmounts: SharpenAmounts(flat: .one, edges: .one)),
      Effects(background: .white), Effects(background: RGBColour(red: 0, green: 0, blue: 1)),
    ]
    let crops: [Crop] = [
      .centre, .attention, .entropy, .point(x: .zero, y: .one),
      .point(x: Thousandths(count: 250), y: .one),
    ]
    let frames: [FrameSelection] = [
      .number(0), .number(1), .time(0), .time(1), .poster, .all,
    ]
    return try [
      .standard, Variant(width: 257, height: height), Variant(width: width, height: 257),
      Variant(width: width, height: height, mode: .fill),
      Variant(width: width, height: height, mode: .fillDown),
      Variant(width: width, height: height, mode: .auto),
      Variant(width: width, height: height, mode: .auto, crop: .centre),
      Variant(width: width, height: height, mode: .stretch),
      Variant(width: width, height: height, mode: .stretchDown),
      Variant(width: width, height: height, mode: .ownSize),
      Variant(width: width, height: height, enlarges: true),
      Variant(width: width, height: height, format: .png),
      Variant(width: width, height: height, format: .compatible),
      Variant(width: width, height: height, quality: 81),
      Variant(width: width, height: height, embeddedUse: .always),
      Variant(width: width, height: height, embeddedUse: .never),
      Variant(width: width, height: height, keptData: KeptData(profile: true)),
      Variant(width: width, height: height, keptData: KeptData(metadata: true)),
      Variant(width: width, height: height, keptData: KeptData(copyright: true)),
      Variant(width: width, height: height, sizing: Sizing(density: Thousandths(count: 500))),
      Variant(width: width, height: height, sizing: Sizing(maximumPixelCount: 9)),
      Variant(width: width, height: height, sizing: Sizing(keepsDrawingSize: true)),
    ] + crops.map { try Variant(width: width, height: height, mode: .fill, crop: $0) }
      + frames.map { try Variant(width: width, height: height, frames: $0) }
      + effects.map { try Variant(width: width, height: height, effects: $0) }
  }

  @Test func `different variants have different canonical texts`() throws {
    let variants = try Self.variants()
    #expect(Set(variants.map(\.canonicalText)).count == variants.count)
  }

  @Test func `what is the default is not in the canonical text`() throws {
    #expect(Variant.standard.canonicalText == "256x256,fit,whole,auto,q80")
    let crop = try Variant(width: 9, height: 8, mode: .fill, crop: .centre, format: .webp)
    #expect(crop.canonicalText == "9x8,fill,crop,webp,q80")
  }

  @Test(
    arguments: [
      (.fit, "fit,whole"), (.fill, "fill,whole"), (.fillDown, "fill-down,crop"),
      (.auto, "auto,whole"), (.stretch, "stretch,whole"), (.stretchDown, "stretch-down,whole"),
      (.ownSize, "own-size,whole"),
    ] as [(Variant.Mode, String)])
  func `the canonical text names the mode`(mode: Variant.Mode, text: String) throws {
    let variant = try Variant(width: 9, height: 8, mode: mode)
    #expect(variant.canonicalText == "9x8,\(text),auto,q80")
  }

  @Test func `the rules of a size are behind what is not the default`() throws {
    let sizing = Sizing(
      density: Thousandths(count: 1_500), maximumPixelCount: 100, keepsDrawingSize: true)
    let variant = try Variant(
      width: 9, height: 8, enlarges: true, keptData: KeptData(copyright: true), sizing: sizing)
    #expect(
      variant.canonicalText
        == "9x8,fit,whole,auto,q80,enlarge,density=1.5,pixels=100,drawing=own,copyright")
    #expect((variant.largestWidth, variant.largestHeight) == (14, 12))
  }

  @Test func `a box with its density has a limit, too`() throws {
    let double = Sizing(density: Thousandths(count: 2_000))
    #expect(throws: VariantError.sideOutOfRange) {
      try Variant(width: 9_000, height: 1, mode: .fill, sizing: double)
    }
    let variant = try Variant(width: 8_000, height: 1, mode: .fill, sizing: double)
    #expect(throws: VariantError.sideOutOfRange) { try variant.inBox(width: 9_000, height: 1) }
    // The box of a picture in its own size is the limit of its thumbnail.
    #expect(throws: Never.self) {
      try Variant(width: 9_000, height: 9_000, mode: .ownSize, sizing: double)
    }
    for sizing in [Sizing(density: .zero), Sizing(maximumPixelCount: 0)] {
      #expect(throws: VariantError.sizingOutOfRange) {
        try Variant(width: 1, height: 1, sizing: sizing)
      }
    }
  }

  @Test func `numbers out of range are refused`() {
    #expect(throws: VariantError.sideOutOfRange) { try Variant(width: 0, height: 1) }
    #expect(throws: VariantError.sideOutOfRange) { try Variant(width: 1, height: 16_384) }
    #expect(throws: VariantError.qualityOutOfRange) {
      try Variant(width: 1, height: 1, quality: 101)
    }
    for frames in [FrameSelection.number(-1), .number(1_000_000), .time(-1), .time(86_400_001)] {
      #expect(throws: VariantError.frameOutOfRange) {
        try Variant(width: 1, height: 1, frames: frames)
      }
    }
    let tooMuch = Thousandths(count: 100_001)
    for effects in [
      Effects(blur: tooMuch), Effects(sharpen: tooMuch), Effects(radius: 16_384),
      Effects(radius: -1),
    ] {
      #expect(throws: VariantError.effectOutOfRange) {
        try Variant(width: 1, height: 1, effects: effects)
      }
    }
  }

  @Test(arguments: Variant.Mode.allCases)
  func `a crop needs a mode that covers the box`(mode: Variant.Mode) throws {
    if [.fill, .fillDown, .auto].contains(mode) {
      let variant = try Variant(width: 1, height: 1, mode: mode, crop: .attention)
      #expect(variant.crop == .attention)
    } else {
      #expect(throws: VariantError.cropWithoutFill) {
        try Variant(width: 1, height: 1, mode: mode, crop: .attention)
      }
    }
  }

  @Test func `fill-down without a crop keeps the centre`() throws {
    let named = try Variant(width: 9, height: 8, mode: .fillDown, crop: .centre)
    #expect(try Variant(width: 9, height: 8, mode: .fillDown) == named)
    let json = #"{"format":"auto","height":8,"mode":"fill-down","quality":80,"width":9}"#
    #expect(try JSONDecoder().decode(Variant.self, from: Data(json.utf8)) == named)
  }

  @Test func `a format of one frame holds no animation`() throws {
    for format in [Variant.Format.jpeg, .png, .avif] {
      #expect(throws: VariantError.stillFormat(format)) {
        try Variant(width: 1, height: 1, format: format, frames: .all)
      }
      let animation = try Variant(width: 1, height: 1, frames: .all)
      #expect(animation.encoded(as: format) == nil)
      #expect(animation.encoded(as: .gif)?.format == .gif)
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
    #expect(
      json == #"{"format":"auto","height":256,"mode":"fit","quality":80,"width":256}"#)
  }

  @Test(arguments: [(true, Crop.centre), (false, nil)])
  func `the crop of an earlier journal is a Boolean`(isCropped: Bool, crop: Crop?) throws {
    let json = #"""
      {"crop":\#(isCropped),"format":"png","height":9,"mode":"fill","quality":80,"width":7}
      """#
    let variant = try JSONDecoder().decode(Variant.self, from: Data(json.utf8))
    #expect(try variant == Variant(width: 7, height: 9, mode: .fill, crop: crop, format: .png))
  }

  @Test(arguments: [
    #""crop":"left""#, #""crop":"2,0""#, #""blur":"-1""#, #""background":"12345""#,
    #""frame":1,"poster":true"#, #""frame":-1"#, #""thumb":"sometimes""#, #""radius":20000"#,
  ])
  func `JSON of no variant is refused`(wrong: String) {
    let json = #"{"format":"auto","height":9,"mode":"fill","quality":80,"width":7,\#(wrong)}"#
    #expect(throws: (any Error).self) {
      try JSONDecoder().decode(Variant.self, from: Data(json.utf8))
    }
  }
}
