import ImgClient
import ImgCrypto
import ImgModel
import ImgSettings

/// How an export names its files, such as `{host}/{id}`: texts, and fields of the line in braces. The extension follows.
struct NameTemplate: Hashable {
  private enum Field: Hashable {
    /// The position among the URLs of the job, with at least so many digits.
    case index(digits: Int)
    /// The number of the thousand that this is of.
    case part
    case host
    /// The last name in the path, without its extension.
    case name
    /// Of the URL.
    case hash
    /// Of the thumbnail.
    case size
    case column(String)
  }

  private enum Part: Hashable {
    case text(String)
    case field(Field)
  }

  private let parts: [Part]
  /// As it was written.
  let text: String

  /// A number, which sorts like the list and needs no escaping.
  static let index = NameTemplate([.field(.index(digits: indexDigits))], "{index}")
  /// The same in directories of a thousand, as many as programs show well.
  static let indexInParts = NameTemplate(
    [.field(.part), .text("/"), .field(.index(digits: indexDigits))], "{part}/{index}")

  private static let indexDigits = 7
  private static let partDigits = 4
  private static let partLineCount = 1_000
  private static let hashDigits = 32
  private static let maximumDigits = 19
  /// A file system takes no name of more than 255 bytes. What is added to one is short.
  static let maximumNameByteCount = 255 - 60

  private init(_ parts: [Part], _ text: String) {
    (self.parts, self.text) = (parts, text)
  }

  init(parsing text: String) throws(InvalidValue) {
    var parts: [Part] = []
    var rest = text[...]
    while let brace = rest.firstIndex(of: "{") {
      if brace > rest.startIndex { parts.append(.text(String(rest[..<brace]))) }
      guard let end = rest[brace...].firstIndex(of: "}") else {
        throw InvalidValue("\(Spelling.quoted(text)) has a { without a }")
      }
      let field = try Self.field(String(rest[rest.index(after: brace)..<end]))
      if let field { parts.append(.field(field)) }
      rest = rest[rest.index(after: end)...]
      // The extension follows in any case.
      if field == nil, !rest.isEmpty || parts.last != .text(".") {
        guard rest.isEmpty, case .text(let last) = parts.last, last.hasSuffix(".") else {
          throw InvalidValue("{ext} can only be the end, behind a dot")
        }
        parts[parts.count - 1] = .text(String(last.dropLast()))
      }
    }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
    let fixed = parts.compactMap { if case .text(let text) = $0 { text } else { nil } }.joined()
    guard !fixed.contains("}"),
      parts.contains(where: { if case .field = $0 { true } else { false } })
    else { throw InvalidValue("\(Spelling.quoted(text)) names all files alike; write {index}") }
    let names = fixed.split(separator: "/", omittingEmptySubsequences: false)
    guard !text.hasPrefix("/"), !text.hasSuffix("/"), !names.contains("..") else {
      throw InvalidValue("\(Spelling.quoted(text)) leads out of the directory or ends with one")
    }
    self.init(parts, text)
  }

  /// - Returns: `nil` for the extension.
  private static func field(_ text: String) throws(InvalidValue) -> Field? {
    let words = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    switch words[0] {
    case "index":
      guard words.count == 2 else { return .index(digits: indexDigits) }
      guard let digits = Int(words[1]), (1...maximumDigits).contains(digits) else {
        throw InvalidValue("{\(text)} is no number of digits; write {index:09}")
      }
      return .index(digits: digits)
    case "part": return .part
    case "host": return .host
    case "name": return .name
    case "hash": return .hash
    case "size": return .size
    case "ext": return nil
    case "": throw InvalidValue("{} names no field")
    default: return .column(text)
    }
  }

  /// - Throws: ``UsageError`` for a field that is no column of the job.
  func check(_ columns: [String]) throws(UsageError) {
    for case .field(.column(let name)) in parts where !columns.contains(name) {
      let known = ["index", "part", "host", "name", "hash", "size", "ext"] + columns
      throw UsageError(
        "imgctl: the job has no column \(Spelling.quoted(name)) for the names; write one of "
          + known.map { "{\($0)}" }.joined(separator: ", "))
    }
  }

  /// Whether the name has the size in its place.
  var hasSize: Bool { parts.contains(.field(.size)) }

  /// The name of a file of a line, without its extension. Each part between slashes is one that file systems take.
  func name(of line: LineResult, _ columns: [String], size: String) -> String {
    let cells = ColumnValues(of: line.line, in: columns)?.cells ?? []
    let name = parts.map { part in
      switch part {
      case .text(let text): text
      // A slash in a value makes no directory.
      case .field(let field):
        value(of: field, line, size) { columns.firstIndex(of: $0).map { cells[$0] } ?? "" }
          .replacing("/", with: "_")
      }
    }.joined()
    return name.split(separator: "/", omittingEmptySubsequences: true)
      .map { Self.safe(String($0)) }.joined(separator: "/")
  }

  private func value(
    of field: Field, _ line: LineResult, _ size: String, _ column: (String) -> String
  ) -> String {
    let url = try? ImageURL(line: line.url)
    switch field {
    case .index(let digits): return Self.number(line.index, digits)
    case .part: return Self.number(line.index / Self.partLineCount, Self.partDigits)
    case .host: return url.map { $0.isLocal || $0.isFile ? "local" : $0.host } ?? "none"
    case .name: return Self.lastName(of: url?.localPath ?? url?.text ?? line.url)
    case .hash:
      return String(
        SHA256.hash(Array((url?.text ?? line.url).utf8)).hexadecimal.prefix(Self.hashDigits))
    case .size: return size
    case .column(let name): return column(name)
    }
  }

  /// Without the extension, the query and escapes.
  private static func lastName(of url: String) -> String {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    let plain = String(decoding: PercentEncoding.decoded(name.utf8), as: UTF8.self)
    return String(plain[..<(plain.lastIndex(of: ".") ?? plain.endIndex)])
  }

  /// A name that is none of a directory, hides no file, and that file systems of other systems take, too.
  static func safe(_ text: String) -> String {
    let refused: Set<Unicode.Scalar> = ["\\", ":", "*", "?", "\"", "<", ">", "|"]
    var name = String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          scalar.properties.generalCategory == .control || refused.contains(scalar) ? "_" : scalar
        }))
    while let last = name.last, last == "." || last == " " { name.removeLast() }
    if name.first == "." { name = "_" + name.dropFirst() }
    if name.utf8.count > maximumNameByteCount {
      let hash = SHA256.hash(Array(text.utf8)).hexadecimal.prefix(8)
      while name.utf8.count > maximumNameByteCount { name.removeLast() }
      name += "-\(hash)"
    }
    if name.isEmpty || deviceNames.contains(name.uppercased()) { name += "_" }
    return name
  }

  /// What Windows has for devices in each directory ("Naming Files, Paths, and Namespaces").
  private static let deviceNames = Set(
    ["CON", "PRN", "AUX", "NUL"] + (1...9).flatMap { ["COM\($0)", "LPT\($0)"] })

  /// Decimal digits, at least so many.
  static func number(_ number: Int, _ width: Int = indexDigits) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

/// The names of the files of an export: by a template, and of local files their own, below the directory that all of them
/// have in common. No two lines have one name, in lower case either, as some file systems have it.
///
/// A second file of one name gets the index of its line.
struct ExportNames {
  private let template: NameTemplate
  /// Whether local files keep their own names.
  private let keepsLocalNames: Bool
  /// Those of the job.
  private let columns: [String]
  /// Whether a line has several files.
  private let hasSeveralSizes: Bool
  /// The names in the path of the common directory; `nil` without local files.
  private var common: ArraySlice<Substring>?
  /// The first line of each name without its extension, by the hash of this name.
  private var owners: [Int: Int] = [:]

  /// A longer list has its files in several directories.
  private static let flatMaximum = 10_000

  /// - Parameters:
  ///   - template: `nil` for the usual names.
  ///   - columns: those of the job.
  ///   - lineCount: of the job.
  ///   - hasSeveralSizes: whether a line may have several files.
  /// - Throws: ``UsageError`` if the job does not have the columns of the template.
  init(
    _ template: NameTemplate?, columns: [String], lineCount: Int, hasSeveralSizes: Bool
  ) throws(UsageError) {
    try template?.check(columns)
    self.template = template ?? (lineCount > Self.flatMaximum ? .indexInParts : .index)
    self.columns = columns
    self.hasSeveralSizes = hasSeveralSizes
    keepsLocalNames = template == nil
  }

  /// Takes one line of the list into account. All of them come before the first name, in their order.
  mutating func add(_ line: LineResult) {
    if let path = path(of: line) {
      let directory = path.split(separator: "/").dropLast()
      let count = zip(common ?? directory, directory).prefix { $0 == $1 }.count
      common = (common ?? directory).prefix(count)
    } else if keepsLocalNames {
      // A number, which is the name of no other line unless a file has it.
      return
    }
    let key = Self.key(of: stem(of: line))
    if owners[key] == nil { owners[key] = line.index }
  }

  /// File systems of other systems have no upper case.
  private static func key(of stem: String) -> Int { stem.lowercased().hashValue }

  /// The name of a file, which depends on the list and the line alone: an export finds the files of an earlier one.
  ///
  /// - Parameters:
  ///   - size: of the thumbnail, such as `64x48`.
  ///   - suffix: the extension, without a dot.
  func name(of line: LineResult, size: String, suffix: String) -> String {
    var ending = ""
    let plain = stem(of: line)
    while let owner = owners[Self.key(of: plain + ending)], owner != line.index {
      ending += "-\(line.index)"
    }
    let hasSize = template.hasSize && path(of: line) == nil
    let stem = hasSize ? stem(of: line, size: size) : plain
    if hasSeveralSizes, !hasSize { ending += "-\(size)" }
    return Substring(stem.utf8.dropFirst(commonPath.utf8.count)) + ending + ".\(suffix)"
  }

  /// The name without its extension, with the path of the common directory.
  private func stem(of line: LineResult, size: String = "") -> String {
    if let path = path(of: line) { return Self.stem(of: path, at: line.index) }
    let name = template.name(of: line, columns, size: size)
    return commonPath + (name.isEmpty ? NameTemplate.number(line.index) : name)
  }

  private var commonPath: String { (common ?? []).map { $0 + "/" }.joined() }

  /// The path of a file without its extension.
  private static func stem(of path: String, at index: Int) -> String {
    var names = path.split(separator: "/").map(String.init)
    let file = names.popLast() ?? ""
    let stem = String(file[..<(file.lastIndex(of: ".") ?? file.endIndex)])
    names.append(
      stem.isEmpty || stem.utf8.count > NameTemplate.maximumNameByteCount
        ? NameTemplate.number(index) : stem)
    return names.joined(separator: "/")
  }

  /// Of a local file that keeps its name.
  private func path(of line: LineResult) -> String? {
    guard keepsLocalNames else { return nil }
    let path = HumanText.listed(line.url)
    return path == line.url ? nil : path
  }
}
