import ImgCommands
import ImgModel
import ImgSettings
import Testing

/// The options that select a variant.
extension InvocationTests {
  private func variant(_ options: String) throws -> Variant {
    try command("get http://h/ \(options)", as: GetCommand.self).options.variant
  }

  @Test(arguments: [
    ("--crop", Crop.centre), ("--crop=attention", .attention), ("--crop=entropy", .entropy),
    ("--crop=0,0.5", .point(x: .zero, y: Thousandths(count: 500))),
  ])
  func `--crop names the part that is kept`(option: String, crop: Crop) throws {
    #expect(try variant(option) == Variant(width: 256, height: 256, mode: .fill, crop: crop))
  }

  @Test(
    arguments: [
      ("auto", .auto, nil), ("auto --crop", .auto, .centre),
      ("fill-down", .fillDown, .centre), ("fill-down --crop=entropy", .fillDown, .entropy),
    ] as [(String, Variant.Mode, Crop?)])
  func `--mode looks at the proportions of the picture`(
    options: String, mode: Variant.Mode, crop: Crop?
  ) throws {
    #expect(
      try variant("--mode \(options)") == Variant(width: 256, height: 256, mode: mode, crop: crop))
  }

  @Test func `effects and what is kept are part of the variant`() throws {
    let effects = Effects(
      isGrayscale: true, blur: Thousandths(count: 2_500), sharpen: Thousandths(count: 500),
      radius: 12, background: RGBColour(red: 255, green: 136, blue: 0))
    #expect(
      try variant(
        "--enlarge --grayscale --blur 2.5 --sharpen .5 --radius 12 --background ff8800 "
          + "--thumb never --keep-profile --keep-metadata")
        == Variant(
          width: 256, height: 256, enlarges: true, embeddedUse: .never, effects: effects,
          keptData: KeptData(profile: true, metadata: true)))
  }

  @Test(arguments: [
    ("--frame 3", FrameSelection.number(3)), ("--at 1.25s", .time(1_250)), ("--at 2", .time(2_000)),
    ("--at 70ms", .time(70)), ("--at 1m", .time(60_000)), ("--at 0.5h", .time(1_800_000)),
    ("--at 1h", .time(3_600_000)), ("--at 1d", .time(86_400_000)), ("--poster", .poster),
    ("--animated", .all), ("", .first),
  ])
  func `frames are selected in one way`(options: String, frames: FrameSelection) throws {
    #expect(try variant(options).frames == frames)
    for other in ["--poster --frame 1", "--animated --at 1s", "--at 1s --poster"] {
      #expect(throws: UsageError.self) { try variant(other) }
    }
  }

  @Test(arguments: [
    ("86401s", "is not from 0s to 1d"), ("25h", "is not from 0s to 1d"),
    ("1.2345s", "is not a multiple of 1ms"),
    (
      "soon",
      "is not a duration; write a number of seconds, or one with ms, s, m, h or d, such as 0.25, "
        + "500ms or 10m"
    ),
  ])
  func `--at takes a duration of at most a day`(time: String, reason: String) throws {
    let error = #expect(throws: UsageError.self) { try variant("--at \(time)") }
    #expect(try #require(error).description.hasSuffix("--at: \"\(time)\" \(reason)"))
  }

  @Test func `a format without animations takes no --animated`() throws {
    let error = #expect(throws: UsageError.self) { try variant("--animated --format jpeg") }
    #expect(try #require(error).description.contains("webp or gif"))
  }

  @Test func `--dpr multiplies all lengths`() throws {
    #expect(
      try variant("--size 100x75 --dpr 1.5 --blur 2 --sharpen 1 --radius 3")
        == Variant(
          width: 150, height: 113,
          effects: Effects(
            blur: Thousandths(count: 3_000), sharpen: Thousandths(count: 1_500), radius: 5)))
    #expect(try variant("--size 1 --dpr 0.1").width == 1)
    #expect(try variant("--dpr 1") == .standard)
  }

  @Test(arguments: [
    ("--crop=left", "--crop"), ("--blur -1", "--blur"), ("--blur 100.5", "--blur"),
    ("--sharpen 1.2345", "--sharpen"), ("--radius 1.5", "--radius"),
    ("--background sky", "--background"), ("--dpr 0", "--dpr"), ("--dpr 11", "--dpr"),
    ("--frame -1", "--frame"), ("--frame 1000000", "--frame"), ("--at 1.5ms", "--at"),
    ("--at -1s", "--at"), ("--at 86401s", "--at"), ("--at soon", "--at"), ("--at ms", "--at"),
    ("--thumb perhaps", "--thumb"), ("--size 16383 --dpr 2", "width and height"),
    ("--blur 60 --dpr 2", "blur and sharpen"),
  ])
  func `a wrong value is named`(options: String, name: String) throws {
    let error = #expect(throws: UsageError.self) { try variant(options) }
    #expect(try #require(error).description.contains(name))
  }

  @Test func `submit makes several sizes, each once`() throws {
    let options = try command(
      "submit a --size 64 --size 640x480 --size=64 --size 16 --dpr 2 --crop", as: SubmitCommand.self
    ).options
    let boxes = ([options.variant] + options.otherVariants).map { [$0.width, $0.height] }
    #expect(boxes == [[128, 128], [1_280, 960], [32, 32]])
    #expect(options.otherVariants.allSatisfy { $0.crop == .centre })
  }

  @Test func `a thumbnail that is written has one size`() throws {
    #expect(try variant("--size 64 --size 32").width == 32)
    let nine = (1...9).map { "--size \($0)" }.joined(separator: " ")
    #expect(throws: UsageError.self) { try command("submit a \(nine)", as: SubmitCommand.self) }
    #expect(throws: UsageError.self) {
      try command("submit a --size 1 --size 16383 --dpr 2", as: SubmitCommand.self)
    }
  }
}
