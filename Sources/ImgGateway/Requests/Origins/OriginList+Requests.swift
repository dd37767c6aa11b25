import ImgHTTP
package import ImgModel
package import ImgSettings

extension OriginList {
  /// - Parameter texts: see ``OriginPattern``. No entry at all is ``all``.
  package init(parsing texts: [String]) throws(InvalidValue) {
    var patterns: [OriginPattern] = []
    for text in texts { patterns.append(try Self.pattern(text)) }
    do throws(InvalidFetchOption) {
      try self.init(patterns)
    } catch {
      throw InvalidValue(error.description)
    }
  }

  private static func pattern(_ text: String) throws(InvalidValue) -> OriginPattern {
    do throws(InvalidFetchOption) {
      return try OriginPattern(parsing: text)
    } catch {
      throw InvalidValue("\(Spelling.quoted(text)) is \(error)")
    }
  }

  /// The origins that redirects of a URL may lead to. A URL outside the list is of a job or of the store. The
  /// list did not decide about it, nor does it about its redirects.
  ///
  /// - Parameter url: of a line of a job, or of a record of the store.
  func redirectOrigins(ofListed url: String) -> OriginList {
    // What is no URL is not fetched.
    guard let url = try? ImageURL(line: url), permits(url) else { return .all }
    return self
  }

  /// - Throws: 403.
  func require(_ url: ImageURL) throws(RequestRejection) {
    guard permits(url) else {
      throw RequestRejection(
        .forbidden, code: "blocked_origin",
        "this server does not serve pictures from this address")
    }
  }
}
