import ImgModel
import ImgSettings
import ImgSystem

/// The destination of a command's thumbnail, and whether the command prints a description.
struct PictureOutput: Hashable, Sendable {
  /// `nil` for standard output.
  let path: String?
  let isJSON: Bool

  private static let output = OptionDescription(
    "--output", short: "-o", "FILE",
    help:
      "Write the thumbnail to this file. The extension (jpg, png, webp, avif, gif) selects the format "
      + "unless --format does. Default: -, standard output.")

  static let options = [output, .json]
  static let note = "With --json, the thumbnail is written only to the file of --output."

  init(_ arguments: ArgumentReader) throws(UsageError) {
    let path = arguments.texts(of: Self.output)?.last
    guard path != "" else { throw UsageError("--output: the path is empty") }
    isJSON = arguments.contains(.json)
    self.path = path == "-" ? nil : path
    guard !isJSON || path != "-" else {
      throw UsageError("--json and --output - would both write to standard output")
    }
  }

  /// The file to write; `nil` for standard output. If the path is a symbolic link, the file that it names,
  /// as other programs write to that. A device or a pipe keeps its path.
  var file: String? {
    guard let path, (try? FileStatus(following: path))?.isRegularFile != false else { return path }
    // The attempt to write reports links that form a circle.
    return (try? FileIO.resolvingLinks(path)) ?? path
  }

  /// The format of the file's extension; `nil` for other extensions.
  var format: ImageFormat? { path.flatMap(ImageFormat.init(extensionOf:)) }

  /// Refuses to write a picture to a terminal, and notices a file that cannot be written before anything is
  /// fetched for it.
  ///
  /// - Parameter command: the name of the command.
  /// - Throws: a ``UsageError`` for a terminal, a ``SystemError`` for a file.
  func check(for command: String) throws {
    if let file { try FileIO.checkReplaceable(path: file) }
    guard path == nil, !isJSON, Terminal.isTerminal(1) else { return }
    throw UsageError(
      "\(command): refusing to write a picture to a terminal; use -o FILE or --json")
  }

  /// Writes a thumbnail, or its description. Prints a note if the picture is damaged, and if the
  /// file's extension is of another format.
  func deliver(
    _ bytes: [UInt8], _ thumbnail: Thumbnail, _ report: some Encodable, in context: CommandContext
  ) throws {
    if thumbnail.isDamaged {
      context.note("imgctl: the picture is damaged; which parts of it were decoded is unknown\n")
    }
    let format = thumbnail.format
    if let path, let file {
      try FileIO.replace(path: file, with: bytes)
      if let promised = self.format, promised != format {
        context.note("imgctl: \(path) contains \(format.rawValue), not \(promised.rawValue)\n")
      }
    } else if !isJSON {
      try context.output.write(bytes: bytes)
    }
    if isJSON { try context.output.write(json: report) }
  }
}
