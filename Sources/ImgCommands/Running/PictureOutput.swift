import ImgModel
import ImgSettings
import ImgSystem

/// Where a command that delivers one thumbnail writes it, and whether it tells what it is.
struct PictureOutput: Hashable, Sendable {
  /// `nil` for standard output.
  let path: String?
  let isJSON: Bool

  private static let output = OptionDescription(
    "--output", short: "-o", "FILE",
    help:
      "Write the thumbnail there, in the format of the name's extension (jpg, png, webp, avif) "
      + "unless --format names one; - is standard output, and the default.")

  static let options = [output, .json]
  static let note = "With --json the thumbnail is written only where --output says so."

  init(_ arguments: ArgumentReader) throws(UsageError) {
    let path = arguments.texts(of: Self.output)?.last
    guard path != "" else { throw UsageError("--output: a path is not empty") }
    isJSON = arguments.contains(.json)
    self.path = path == "-" ? nil : path
    guard !isJSON || path != "-" else {
      throw UsageError("--json and --output - would both write to standard output")
    }
  }

  /// What the name of the file promises; `nil` where it promises nothing.
  var format: ImageFormat? { path.flatMap(ImageFormat.init(extensionOf:)) }

  /// Refuses to fill a terminal with a picture.
  ///
  /// - Parameter command: its name.
  func check(for command: String) throws(UsageError) {
    guard path == nil, !isJSON, Terminal.isTerminal(1) else { return }
    throw UsageError(
      "\(command): a picture is not for a terminal; name a file with -o FILE, or ask for --json")
  }

  /// Writes a picture, or what is known of it. A file whose name promises another format is noted.
  ///
  /// - Parameter format: of the picture.
  func deliver(
    _ bytes: [UInt8], _ format: ImageFormat, _ report: some Encodable, in context: CommandContext
  ) throws {
    if let path {
      try FileIO.replace(path: path, with: bytes)
      if let promised = self.format, promised != format {
        context.note("imgctl: \(path) holds \(format.rawValue), not \(promised.rawValue)\n")
      }
    } else if !isJSON {
      try context.output.write(bytes: bytes)
    }
    if isJSON { try context.output.write(json: report) }
  }
}
