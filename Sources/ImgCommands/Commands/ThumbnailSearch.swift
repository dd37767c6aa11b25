import Glibc
import ImgClient
package import ImgModel
import ImgSettings
import ImgSystem

/// The search of a command for one thumbnail, see ``ThumbnailFinder``. The user learns what it waits for.
struct ThumbnailSearch {
  let choice: VariantChoice
  /// Names the place that shows the picture; `nil` for a request by itself.
  let viewer: String?
  /// Is given previews while the picture arrives; `nil` asks for none.
  var onPreview: ((ImagePreview) -> Void)?
  /// Whether previews may show the first rows alone.
  var previewsRows = false
  /// Is given how much of the picture has arrived; `nil` asks for nothing.
  var progress: ProgressOutput?
  /// Whether the picture is wanted as its origin sent it.
  var isOriginal = false

  /// - Parameter options: the requested variant may be replaced by one that the store has.
  func thumbnail(
    of url: ImageURL, _ options: RequestOptions, in context: CommandContext
  ) throws -> FoundThumbnail {
    let found = try find(url, options, in: context)
    if case .uncached(let picture) = found, let failure = picture.facts.failure {
      context.note("not stored: \(failure.detail)\n")
    }
    return found
  }

  private func find(
    _ url: ImageURL, _ options: RequestOptions, in context: CommandContext
  ) throws -> FoundThumbnail {
    defer { progress?.end() }
    let finder = ThumbnailFinder(
      choice, viewer: viewer, in: context.store, readsStoreFirst: !StoreCrash.hasHappened,
      connect: context.coordinatorOfStore)
    let observers = observers(in: context)
    return try isOriginal
      ? finder.original(of: url, options, observers) : finder.thumbnail(of: url, options, observers)
  }

  private func observers(in context: CommandContext) -> ThumbnailFinder.Observers {
    var notes = WaitNotes()
    var hasArrivals = false
    var observers = ThumbnailFinder.Observers()
    observers.onPreview = onPreview.map { show in
      { preview in
        hasArrivals = true
        show(preview)
      }
    }
    observers.previewsRows = previewsRows
    observers.onProgress = progress.map { output in
      { progress in
        hasArrivals = true
        output.show(progress)
      }
    }
    observers.onWait = { wait in
      // A preview or progress says more.
      guard !hasArrivals else { return }
      if let note = notes.note(on: wait, at: context.now) { context.note(note) }
    }
    return observers
  }
}

/// The destination of a command's thumbnail, and whether the command prints a description.
struct PictureOutput: Hashable, Sendable {
  /// `nil` for standard output.
  private(set) var path: String?
  /// The name, without its extension, of the file in the directory `path`; `nil` if `path` is the file.
  private var stem: String?
  let isJSON: Bool

  private static let output = OptionDescription(
    "--output", short: "-o", "FILE",
    help:
      "Write the thumbnail to this file. The extension (jpg, png, webp, avif, gif) selects the format "
      + "unless --format does. DIR/ is a directory, created if missing, for a file that is named as the "
      + "picture. Default: -, standard output.")

  static let options = [output, .json]
  /// Names of files that hold pictures, but are none of a format that is read.
  private static let otherEndings: Set = [
    "pdf", "eps", "ps", "psd", "raw", "dng", "cr2", "nef", "mp4", "webm",
  ]
  static let note = "With --json, the thumbnail is written only to the file of --output."

  /// - Parameter isOriginal: whether the picture may have any format.
  init(_ arguments: ArgumentReader, isOriginal: Bool = false) throws(UsageError) {
    let path = arguments.texts(of: Self.output)?.last
    guard path != "" else { throw UsageError("--output: the path is empty") }
    isJSON = arguments.contains(.json)
    self.path = path == "-" ? nil : path
    if !isOriginal, let path, let name = path.split(separator: ".").last?.lowercased(),
      ImageFormat(extensionOf: path).map({ ImageVariant.Format($0) == nil })
        ?? Self.otherEndings.contains(name)
    {
      throw UsageError(
        "--output: \(Spelling.quotedWhole(path)): thumbnails are not \(name); end the name in .jpg, .png, "
          + ".webp, .avif or .gif")
    }
    guard !isJSON || path != "-" else {
      throw UsageError("--json and --output - would both write to standard output")
    }
  }

  /// The files in a directory, one for each picture; `nil` for one picture that goes elsewhere. Without a
  /// directory, the descriptions of all go to standard output.
  ///
  /// - Parameter command: the name of the command.
  /// - Throws: a ``UsageError`` if several pictures have no directory, or two have one name.
  func files(of pictures: [String], for command: String) throws(UsageError) -> [PictureOutput]? {
    guard let path, path.hasSuffix("/") || (try? FileStatus(following: path))?.isDirectory == true
    else {
      guard pictures.count > 1 else { return nil }
      guard isJSON, path == nil else {
        throw UsageError("\(command): several pictures need a directory: -o DIR/")
      }
      return pictures.map { _ in self }
    }
    var sources: [String: String] = [:]
    return try pictures.map { (picture) throws(UsageError) in
      let stem = try Self.stem(of: picture, for: command)
      if let other = sources.updateValue(picture, forKey: stem) {
        throw UsageError(
          "\(command): \(HumanText.source(other)) and \(HumanText.source(picture)) would both be "
            + "\(stem) in \(path); get one of them into another directory")
      }
      var output = self
      output.path = path.hasSuffix("/") && path != "/" ? String(path.dropLast()) : path
      output.stem = stem
      return output
    }
  }

  /// The last part of a path, without its extension.
  private static func stem(of picture: String, for command: String) throws(UsageError) -> String {
    let path = (try? PictureSource(picture)).flatMap { source -> String? in
      switch source {
      case .file("-"): nil
      case .file(let path): path
      case .url(let url):
        url.lowercased().hasPrefix("data:")
          ? nil : String(url.prefix { !"?#".contains($0) })
      }
    }
    let name = path?.split(separator: "/").last.map(String.init) ?? ""
    let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
    guard !stem.isEmpty else {
      throw UsageError(
        "\(command): \(HumanText.source(picture)) has no name for a file; use -o FILE")
    }
    return HumanText.printable(String(stem.prefix(maximumStemLength)))
  }

  /// Its extension, and characters of four bytes, still fit the longest name of a file.
  private static let maximumStemLength = 60

  /// The file to write; `nil` for standard output. If the path is a symbolic link, the file that it names,
  /// as other programs write to that. A device or a pipe keeps its path.
  var file: String? {
    path.map(Self.resolved)
  }

  private static func resolved(_ path: String) -> String {
    guard (try? FileStatus(following: path))?.isRegularFile != false else { return path }
    // The attempt to write reports links that form a circle.
    return (try? FileIO.resolvingLinks(path)) ?? path
  }

  /// The format of the file's extension; `nil` for other extensions.
  var format: ImageFormat? { stem == nil ? path.flatMap(ImageFormat.init(extensionOf:)) : nil }

  /// Refuses to write a picture to a terminal, and notices a file that cannot be written before anything is
  /// fetched for it.
  ///
  /// - Parameter command: the name of the command.
  /// - Throws: a ``UsageError`` for a terminal and for a directory that does not exist, a ``SystemError`` for a file.
  func check(for command: String) throws {
    if let path, stem != nil { return try Directory.create(path) }
    if let file {
      try requireDirectory(of: file, for: command)
      try FileIO.checkReplaceable(path: file)
    }
    guard path == nil, !isJSON, Terminal.isTerminal(1) else { return }
    throw UsageError(
      "\(command): refusing to write a picture to a terminal; use -o FILE or --json")
  }

  /// - Throws: a ``UsageError`` that names a directory that does not exist.
  private func requireDirectory(
    of file: String, for command: String
  ) throws(UsageError) {
    guard let slash = file.lastIndex(of: "/") else { return }
    let directory = String(file[..<slash])
    do throws(SystemError) {
      if !directory.isEmpty { _ = try FileStatus(following: directory) }
    } catch  where error.code == ENOENT {
      throw UsageError(
        "\(command): --output: there is no directory \(Spelling.quotedWhole(directory)); mkdir -p makes it"
      )
    } catch {
      // The attempt to write reports it.
    }
  }

  /// Writes a thumbnail, or its description. Prints a note if the picture is damaged, and if the
  /// file's extension is of another format.
  ///
  /// - Parameters:
  ///   - sources: the URLs or paths of the pictures that it is made from.
  ///   - isVerbose: whether a file that is replaced is told.
  /// - Throws: a ``UsageError`` if the file would replace one of them.
  func deliver(
    _ bytes: [UInt8], _ thumbnail: Thumbnail, _ report: some Encodable, of sources: [String],
    isVerbose: Bool = false, in context: CommandContext
  ) throws {
    if thumbnail.isDamaged {
      context.note("imgctl: the picture is damaged; which parts of it were decoded is unknown\n")
    }
    let format = thumbnail.format
    let path = path.map { path in
      stem.map { "\(path)/\($0).\(format.fileExtension)" } ?? path
    }
    if let path {
      let file = Self.resolved(path)
      if let old = try? FileStatus(following: file),
        sources.contains(where: { (try? FileStatus(following: $0))?.isSameFile(as: old) == true })
      {
        throw UsageError(
          "--output: \(path) is the picture itself; choose another name or directory")
      }
      if isVerbose, (try? FileStatus(at: file)) != nil { context.note("replacing \(path)\n") }
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

/// A local picture for upload: a file or standard input.
struct PictureFile: ~Copyable {
  private let file: InputFile

  /// Opens the file with the rights of this process.
  ///
  /// - Parameter path: `-` for standard input.
  init(path: String) throws(SystemError) {
    file = try InputFile(path: path)
  }

  /// The same for a command that reads no other picture.
  ///
  /// - Throws: as ``InputFile/picture(at:for:)`` does.
  init(path: String, of command: CommandDescription) throws {
    file = try InputFile.picture(at: path, for: command)
  }

  /// The same for a command that has another picture to try.
  ///
  /// - Throws: a ``Failure`` with code `unreadable_file`.
  init(attempting path: String) throws(Failure) {
    self = try rethrowing(try PictureFile(path: path)) { (error: SystemError) in
      Failure(
        stage: .fetch, code: .unreadableFile,
        detail: error.code == EISDIR ? InputFile.advice(onDirectory: path) : error.description)
    }
  }

  /// Reads the whole picture and uploads it.
  ///
  /// - Parameter url: the URL to store it under; `nil` to store nothing.
  /// - Throws: as ``contents(for:)`` does.
  func upload(over client: Client, as url: String?, options: RequestOptions) throws -> GetResult {
    try client.answer(.upload(try contents(for: client), as: url, options: options))
  }

  /// Reads the whole picture for a coordinator.
  ///
  /// - Throws: a ``Failure`` with code `too_large` beyond the coordinator's limit.
  func contents(for client: Client) throws -> [UInt8] {
    try Self.contents(of: file, for: client)
  }

  /// The same of a file that is open.
  ///
  /// - Parameter beginning: what was read of a stream before.
  static func contents(
    of file: borrowing InputFile, after beginning: [UInt8] = [], for client: Client
  ) throws -> [UInt8] {
    let limit = Int(try client.answer(.status).limits.maxBodyByteCount)
    do throws(SystemError) {
      let rest = max(0, limit - beginning.count)
      return try beginning
        + FileIO.contents(of: file.descriptor, named: file.name, upTo: rest)
    } catch {
      guard error.code == EFBIG else { throw error }
      throw Failure(
        stage: .fetch, code: .tooLarge, detail: "\(file.name) has more than \(limit) bytes")
    }
  }
}

extension InputFile {
  /// Opens a picture for a command that reads no other.
  ///
  /// - Throws: a ``UsageError`` for a file that does not exist and for a directory.
  static func picture(at path: String, for command: CommandDescription) throws -> InputFile {
    do throws(SystemError) {
      return try InputFile(path: path)
    } catch {
      switch error.code {
      case ENOENT:
        throw UsageError(
          "\(command.name): no such file: \(Spelling.quotedWhole(path)); a URL begins with https:// or http://"
        )
      case EISDIR: throw UsageError("\(command.name): \(advice(onDirectory: path))")
      default: throw error
      }
    }
  }

  fileprivate static func advice(onDirectory path: String) -> String {
    "\(Spelling.quotedWhole(path)) is a directory; to make thumbnails of its pictures: imgctl submit \(path.shellWord)"
  }
}

/// The source of a picture on a command line.
package enum PictureSource: Hashable, Sendable {
  case url(String)
  /// A path for this process to open; `-` for standard input.
  case file(String)

  /// The source that a text names on this machine.
  ///
  /// - Throws: as ``init(_:isFile:)`` does.
  init(_ text: String) throws(Failure) {
    try self.init(text, isFile: FileIO.isFile)
  }

  /// A text with a scheme is a URL. So is a text that begins with a host name, unless a file of
  /// that name exists. A path whose first part contains a colon is written `./a:b`.
  ///
  /// - Parameter isFile: whether a path is a file.
  /// - Throws: a ``Failure`` with code `invalid_url` for a `file:` URL of another machine.
  package init(_ text: String, isFile: (String) -> Bool) throws(Failure) {
    if let path = try FileURL.path(of: text) {
      self = .file(path)
    } else if text.prefix(while: { $0 != "/" }).contains(":") {
      self = .url(text)
    } else if text == "-" || isFile(text) || (try? ImageURL(line: text)) == nil {
      self = .file(text)
    } else {
      self = .url(text)
    }
  }
}

/// The notes of a command that waits: one for each reason, and one a minute while it stays the same.
///
/// The coordinator also reports when only the time of the next attempt changes. For a host at its
/// rate limit that is up to once a second, so such a change prints nothing.
package struct WaitNotes: Sendable {
  private static let interval = Duration.seconds(60)

  private var last: (reason: [String], at: WallTime)?

  package init() {}

  /// The line to print, with a line feed; `nil` if the last note gave this reason not long ago.
  package mutating func note(on wait: Wait, at now: WallTime) -> String? {
    if let last, last.reason == wait.reason, last.at.duration(to: now) < Self.interval {
      return nil
    }
    last = (wait.reason, now)
    return "waiting: \(WaitText(wait, at: now).text)\n"
  }
}
