import FoundationEssentials
import ImgModel
import ImgSettings
import ImgSystem

/// A file that an option names.
enum OptionFile {
  static func text(at path: String, upTo maximumByteCount: Int) throws(InvalidValue) -> String {
    let bytes = try rethrowing(try FileIO.contents(of: path, upTo: maximumByteCount)) {
      (error: SystemError) in
      InvalidValue("\(Spelling.quoted(path)) cannot be read: \(error)")
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Reads a file of cookies in Netscape's format, as browsers' extensions, curl, wget and yt-dlp write it: a
/// cookie a line, and comments that begin with `#`. Errors do not contain what the file holds.
enum CookieFile {
  /// A larger file would mostly hold cookies of sites that the job does not ask.
  private static let maximumByteCount = 4 << 20

  /// Begins a line with a cookie that scripts of its site cannot read. It is no comment.
  private static let httpOnlyPrefix = "#HttpOnly_"

  /// - Parameter path: of the file.
  static func cookies(path: String) throws(InvalidValue) -> Cookies {
    let text = try OptionFile.text(at: path, upTo: maximumByteCount)
    return try rethrowing(try cookies(in: text, at: .now)) { (error: InvalidValue) in
      InvalidValue("\(Spelling.quoted(path)): \(error.reason)")
    }
  }

  /// - Parameter now: cookies that have expired by then are left out.
  private static func cookies(in text: String, at now: WallTime) throws(InvalidValue) -> Cookies {
    try refuseOtherForms(text)
    var cookies: [Cookie] = []
    let lines = text.split(omittingEmptySubsequences: false) { ["\n", "\r\n"].contains($0) }
    for (index, line) in lines.enumerated() {
      let isHTTPOnly = line.hasPrefix(httpOnlyPrefix)
      let isComment = line.hasPrefix("#") && !isHTTPOnly
      guard !isComment, !line.allSatisfy(\.isWhitespace) else { continue }
      let fields = String(isHTTPOnly ? line.dropFirst(httpOnlyPrefix.count) : line)
      cookies.append(
        try rethrowing(try Cookie(line: fields)) { (error: InvalidFetchOption) in
          InvalidValue("line \(index + 1): \(error)")
        })
    }
    guard !cookies.isEmpty else { throw InvalidValue("it has no cookies") }
    let lasting = cookies.filter { !$0.hasExpired(at: now) }
    guard !lasting.isEmpty else {
      throw InvalidValue("all its cookies have expired; export it again")
    }
    return try rethrowing(try Cookies(lasting), as: InvalidValue.init)
  }

  /// Names the forms that people take for it.
  private static func refuseOtherForms(_ text: String) throws(InvalidValue) {
    let start = text.drop(while: \.isWhitespace)
    let other: String? =
      if start.hasPrefix("SQLite format 3") {
        "the database of a browser"
      } else if start.hasPrefix("[") || start.hasPrefix("{") {
        "JSON"
      } else if start.lowercased().hasPrefix("cookie:")
        || start.lowercased().hasPrefix("set-cookie:")
      {
        "a header field"
      } else {
        nil
      }
    guard let other else { return }
    throw InvalidValue("it is \(other); export the cookies in Netscape's format (cookies.txt)")
  }
}

/// The user names and passwords of hosts in a file such as `~/.netrc`, in the format that curl(1) and
/// ftp(1) read.
///
/// The command reads the file, not a worker: the file belongs to the user of the command, who may be
/// another than the coordinator's, and a worker may open no file of a home directory.
struct Netrc {
  private struct Entry {
    let host: String
    var login: String?
    var password: String?
  }

  private var entries: [Entry] = []
  /// The key whose value is the next word.
  private var pendingKey: String?
  /// Whether the words belong to the last entry.
  private var isInEntry = false

  /// Larger files are refused.
  private static let maximumByteCount = 1 << 20

  /// `~/.netrc`; `nil` if the environment has no home directory.
  static var standardPath: String? {
    Settings.homeDirectory(in: ThisProcess.environment).map { "\($0)/.netrc" }
  }

  /// - Throws: for a file that cannot be read. The text contains nothing of the file.
  init(path: String) throws(InvalidValue) {
    self.init(parsing: try OptionFile.text(at: path, upTo: Self.maximumByteCount))
  }

  /// `default` is ignored: its password would go to every host of a list.
  init(parsing text: String) {
    var isInMacro = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      if isInMacro {
        // A macro ends with an empty line.
        isInMacro = !line.allSatisfy(\.isWhitespace)
        continue
      }
      isInMacro = read(Self.words(of: line))
    }
  }

  /// - Returns: whether a macro begins.
  private mutating func read(_ words: [String]) -> Bool {
    for word in words {
      if let key = pendingKey {
        pendingKey = nil
        set(key, to: word)
        continue
      }
      switch word {
      case "macdef": return true
      case "default": isInEntry = false
      case "machine", "login", "password", "account": pendingKey = word
      default: break
      }
    }
    return false
  }

  private mutating func set(_ key: String, to value: String) {
    if key == "machine" {
      let host = (try? ImageURL(parsing: "https://\(value)/"))?.host
      isInEntry = host != nil
      if let host { entries.append(Entry(host: host)) }
      return
    }
    guard isInEntry, let last = entries.indices.last else { return }
    switch key {
    case "login": entries[last].login = value
    case "password": entries[last].password = value
    default: break
    }
  }

  /// Splits a line at white space. Quotation marks keep a word together, and a backslash in them
  /// escapes; `#` begins a comment line.
  private static func words(of line: Substring) -> [String] {
    var words: [String] = []
    var rest = line.drop(while: \.isWhitespace)
    guard rest.first != "#" else { return [] }
    while let first = rest.first {
      if first == "\"" {
        words.append(quotedWord(&rest))
      } else {
        let word = rest.prefix { !$0.isWhitespace }
        words.append(String(word))
        rest = rest[word.endIndex...]
      }
      rest = rest.drop(while: \.isWhitespace)
    }
    return words
  }

  private static func quotedWord(_ rest: inout Substring) -> String {
    var word = ""
    rest.removeFirst()
    while let character = rest.popFirst(), character != "\"" {
      guard character == "\\", let escaped = rest.popFirst() else {
        word.append(character)
        continue
      }
      word.append(["n": "\n", "r": "\r", "t": "\t"][escaped] ?? escaped)
    }
    return word
  }

  /// The field of each host that has a user name and a password (RFC 7617 section 2). The first entry
  /// of a host counts.
  ///
  /// - Parameter hosts: those that are asked; `nil` for all.
  func fields(for hosts: Set<String>?) throws(InvalidFetchOption) -> [HeaderField] {
    var seen: Set<String> = []
    var fields: [HeaderField] = []
    for entry in entries where hosts?.contains(entry.host) ?? true {
      guard let login = entry.login, let password = entry.password,
        seen.insert(entry.host).inserted
      else { continue }
      let credentials = Data("\(login):\(password)".utf8).base64EncodedString()
      fields.append(
        try HeaderField(
          name: "authorization", value: "Basic \(credentials)", onlyTo: entry.host))
    }
    return fields
  }
}
