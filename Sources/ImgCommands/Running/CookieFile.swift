import ImgModel
import ImgSettings
import ImgSystem

/// Reads a file of cookies in Netscape's format, as browsers' extensions, curl, wget and yt-dlp write it: a
/// cookie a line, and comments that begin with `#`. Errors do not contain what the file holds.
enum CookieFile {
  /// A larger file would mostly hold cookies of sites that the job does not ask.
  private static let maximumByteCount = 4 << 20

  /// Begins a line with a cookie that scripts of its site cannot read. It is no comment.
  private static let httpOnlyPrefix = "#HttpOnly_"

  /// - Parameter path: of the file.
  static func cookies(path: String) throws(InvalidValue) -> Cookies {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try FileIO.contents(of: path, upTo: maximumByteCount)
    } catch {
      throw InvalidValue("\(Spelling.quoted(path)) cannot be read: \(error)")
    }
    do throws(InvalidValue) {
      return try cookies(in: String(decoding: bytes, as: UTF8.self), at: .now)
    } catch {
      throw InvalidValue("\(Spelling.quoted(path)): \(error.reason)")
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
      do throws(InvalidFetchOption) {
        cookies.append(try Cookie(line: fields))
      } catch {
        throw InvalidValue("line \(index + 1): \(error)")
      }
    }
    guard !cookies.isEmpty else { throw InvalidValue("it has no cookies") }
    let lasting = cookies.filter { !$0.hasExpired(at: now) }
    guard !lasting.isEmpty else {
      throw InvalidValue("all its cookies have expired; export it again")
    }
    do throws(InvalidFetchOption) {
      return try Cookies(lasting)
    } catch {
      throw InvalidValue(error.description)
    }
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
