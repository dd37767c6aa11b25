import Glibc
import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

/// Turns the paths of files into the URLs of a job whose files this command reads, see ``JobFileReader``.
package struct LocalPaths: Sendable {
  /// Where relative paths begin; absolute.
  private let directory: String

  /// - Parameter directory: absolute, or relative to the current directory.
  package init(from directory: String = "") {
    self.directory = Self.joined(ThisProcess.currentDirectory ?? "/", directory)
  }

  /// For the paths in a list.
  ///
  /// - Parameter list: the path of its file; `-` for standard input.
  package init(inList list: String) {
    let end = list == "-" ? nil : list.lastIndex(of: "/")
    self.init(from: end.map { String(list[...$0]) } ?? "")
  }

  /// Whether a line of a list is a path, and no URL. A text with two slashes at its beginning is a URL. So is one that
  /// begins with a host name, also if a file has that name: a copy of a site has such names.
  func isPath(_ line: String) -> Bool {
    if line.hasPrefix("./") || line.hasPrefix("../") { return true }
    if line.hasPrefix("/") { return !line.hasPrefix("//") }
    return !ImageURL.hasOrigin(line)
      && (try? FileStatus(following: absolute(line)))?.isRegularFile == true
  }

  /// The URL of a file in its present state. A file that is missing has one, too: its line fails when it is read.
  package func url(of path: String) -> String {
    let path = absolute(path)
    let state = (try? FileStatus(following: path))?.state
    return FileURL.text(ofPath: Array(path.utf8), state: state ?? [0])
  }

  /// The path without empty segments, `.` and `..`. Symbolic links stay, unless `..` follows one.
  func absolute(_ path: String) -> String {
    let whole = Self.joined(directory, path)
    guard whole.split(separator: "/").contains("..") else { return Self.normalized(whole) }
    let slash = whole.lastIndex(of: "/") ?? whole.startIndex
    let name = whole[whole.index(after: slash)...]
    let parent = String(whole[..<slash])
    if name != "..", let real = try? Directory.resolve(parent) {
      return Self.normalized("\(real)/\(name)")
    }
    return (try? Directory.resolve(whole)) ?? Self.normalized(whole)
  }

  private static func joined(_ directory: String, _ path: String) -> String {
    path.hasPrefix("/") ? path : "\(directory)/\(path)"
  }

  private static func normalized(_ path: String) -> String {
    var names: [Substring] = []
    for name in path.split(separator: "/") where name != "." {
      if name == ".." { _ = names.popLast() } else { names.append(name) }
    }
    return "/" + names.joined(separator: "/")
  }
}

/// Reads the names of pictures and directories, which are operands of a command, as a list. What it has read of a
/// directory is in memory, not the rest.
final class FileList: ListSource {
  static let recursive = OptionDescription(
    "--recursive", short: "-r",
    help:
      "Of a directory, submit the pictures in its directories, too. Links to directories are not followed."
  )

  /// A directory that is being read.
  private struct Level {
    /// Absolute.
    let path: String
    let listing: DirectoryListing
    var entries: ArraySlice<DirectoryListing.Entry>
  }

  private let isRecursive: Bool
  /// The file that the command will write, if it exists.
  private let output: FileStatus?
  private let outputName: Substring
  private var operands: ArraySlice<String>
  private var levels: [Level] = []
  private var batcher = SubmissionBatcher()
  private var hasEnded = false
  let namesFiles = true
  /// What was left out.
  private(set) var skipped = SkippedFiles()

  private static let paths = LocalPaths()
  /// Entries of a directory that are in memory at a time.
  private static let partCount = 10_000
  /// Directories in each other. Each that is being read is open.
  private static let maximumDepth = 128

  /// - Parameters:
  ///   - operands: pictures, URLs of pictures, and directories.
  ///   - output: the path of the file that the command will write; in a directory it is no picture of it.
  init(_ operands: [String], isRecursive: Bool, output: String? = nil) {
    self.operands = operands[...]
    self.isRecursive = isRecursive
    self.output = output.flatMap { try? FileStatus(following: $0) }
    outputName = output?.split(separator: "/").last ?? ""
  }

  /// Whether an operand names a picture or a directory, and no list.
  static func isNamed(by operand: String) -> Bool {
    guard let status = try? FileStatus(following: operand) else { return false }
    return status.isDirectory || ImageFormat(extensionOf: operand) != nil
  }

  /// The operands, with what they match in place of patterns. What exists is no pattern.
  static func expanded(_ operands: [String]) -> [String] {
    operands.flatMap { operand in
      guard operand.contains(where: { "*?[".contains($0) }),
        (try? FileStatus(following: operand)) == nil
      else { return [operand] }
      let found = Directory.matches(operand)
      return found.isEmpty ? [operand] : found
    }
  }

  func next() throws -> [ListLines]? {
    guard !hasEnded else { return nil }
    for _ in 0..<Self.partCount {
      if let line = try nextLine() {
        guard let full = line.flatMap({ batcher.add(ListLine($0)) }) else { continue }
        return [full]
      }
      hasEnded = true
      return [batcher.finish()].compactMap(\.self)
    }
    return []
  }

  /// - Returns: the line of the next entry, which has none if it is left out; `nil` at the end.
  private func nextLine() throws -> String?? {
    guard var level = levels.popLast() else {
      guard let operand = operands.popFirst() else { return nil }
      if ListPlace.isURL(operand) { return operand }
      guard try FileStatus(following: operand).isDirectory else {
        return Self.paths.url(of: operand)
      }
      let path = Self.paths.absolute(operand)
      levels.append(Level(path: path, listing: try DirectoryListing(path), entries: []))
      return .some(nil)
    }
    if level.entries.isEmpty { level.entries = level.listing.next(upTo: Self.partCount)[...] }
    guard let entry = level.entries.popFirst() else { return .some(nil) }
    levels.append(level)
    return line(of: entry, in: level.path)
  }

  private func line(of entry: DirectoryListing.Entry, in directory: String) -> String? {
    guard entry.name.first != UInt8(ascii: ".") else {
      skipped.hiddenCount += 1
      return nil
    }
    let name = String(decoding: entry.name, as: UTF8.self)
    let path = directory == "/" ? "/\(name)" : "\(directory)/\(name)"
    // Some file systems do not say what an entry is.
    let isDirectory =
      entry.kind == .directory
      || entry.kind == .unknown && (try? FileStatus(at: path))?.isDirectory == true
    if isDirectory { return enter(path) }
    guard ImageFormat(extensionOf: name) != nil else {
      skipped.otherCount += 1
      return nil
    }
    if let output, name == outputName,
      (try? FileStatus(following: path))?.isSameFile(as: output) == true
    {
      skipped.outputCount += 1
      return nil
    }
    guard name.utf8.elementsEqual(entry.name) else {
      // The line says why it fails.
      return FileURL.text(
        ofPath: Array(directory.utf8) + [UInt8(ascii: "/")] + entry.name, state: [0])
    }
    return Self.paths.url(of: path)
  }

  /// - Returns: a line that fails when it is read, for a directory that cannot be.
  private func enter(_ path: String) -> String? {
    guard isRecursive else {
      skipped.directoryCount += 1
      return nil
    }
    guard levels.count < Self.maximumDepth, let listing = try? DirectoryListing(path) else {
      return Self.paths.url(of: path)
    }
    levels.append(Level(path: path, listing: listing, entries: []))
    return nil
  }
}

/// What was left out of directories.
struct SkippedFiles: Hashable, Sendable {
  /// Files whose names begin with a dot.
  var hiddenCount = 0
  /// Files whose names are not those of pictures.
  var otherCount = 0
  /// Directories that are not entered.
  var directoryCount = 0
  /// The file that the command will write.
  var outputCount = 0

  static func + (left: Self, right: Self) -> Self {
    SkippedFiles(
      hiddenCount: left.hiddenCount + right.hiddenCount,
      otherCount: left.otherCount + right.otherCount,
      directoryCount: left.directoryCount + right.directoryCount,
      outputCount: left.outputCount + right.outputCount)
  }

  /// A sentence for people; `nil` if nothing was left out.
  var text: String? {
    var parts: [String] = []
    if otherCount > 0 {
      parts.append("\(HumanText.count(otherCount, of: "file")) without the name of a picture")
    }
    if hiddenCount > 0 { parts.append("\(HumanText.count(hiddenCount, of: "hidden file"))") }
    if directoryCount > 0 {
      let noun = directoryCount == 1 ? "directory" : "directories"
      parts.append("\(directoryCount) \(noun) (--recursive enters them)")
    }
    if outputCount > 0 { parts.append("the output of the command") }
    return parts.isEmpty ? nil : "skipped " + parts.joined(separator: ", ")
  }
}

/// Reads the files of a job until it needs none any more, and shows how far it is.
struct FileReading {
  private let context: CommandContext

  private let showsBar: Bool

  private static let interval = Duration.milliseconds(100)

  init(in context: CommandContext, isJSON: Bool) {
    self.context = context
    showsBar = !isJSON && Terminal.obeysControls(2)
  }

  /// - Parameter client: to the coordinator that has accepted the job.
  func run(_ job: JobID, over client: sending Client) throws -> ExitCode {
    let signals = try SignalSource([SIGINT])
    let transport = try ClusterTransport(context.settings, continuing: client)
    let reader = try JobFileReader(of: job, over: transport)
    let updates = try JobUpdateReader(ImageJobs(transport).updates(of: job.rawValue))
    let start = ContinuousClock.now
    var line = RedrawnLine()
    defer { context.redraw(line.end()) }
    while try !reader.waitForEnd(until: .now + Self.interval) {
      guard signals.take().isEmpty else {
        context.redraw(line.erase())
        context.note("job \(job) waits for its other files; to read them: imgctl wait \(job)\n")
        return .interrupted
      }
      guard showsBar, let status = try updates.next(until: .now) else { continue }
      let bar = ProgressBar(status, at: ContinuousClock.now - start, wall: context.now)
      context.redraw(line.draw(bar.line(columns: Terminal.messageColumns)))
    }
    return .success
  }
}
