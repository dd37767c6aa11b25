internal import ImgModel

/// Where a redirect leads.
///
/// libcurl follows none: each begins another transfer, which has what is left of the limits of the
/// first, so that each hop is checked like a request of its own.
struct RedirectTarget {
  let url: ImageURL
  let parsedURL: ParsedURL

  /// - Parameters:
  ///   - location: the reference that the response holds.
  ///   - url: where the response came from.
  ///   - status: of the response.
  /// - Throws: why the redirect is not followed.
  init(_ location: String, from url: ParsedURL, status: Int?) throws(Failure) {
    let next: ParsedURL
    do throws(Failure) {
      next = try ParsedURL(location, from: url)
    } catch {
      // libcurl does not know the scheme, such as data.
      throw error.code == .unsupportedScheme ? .redirectToOtherScheme(status) : error
    }
    guard let scheme = next.scheme, ["http", "https"].contains(scheme) else {
      throw .redirectToOtherScheme(status)
    }
    guard let imageURL = next.text.flatMap({ try? ImageURL(parsing: $0) }) else {
      throw Failure(
        stage: .fetch, code: .invalidURL, httpStatus: status,
        detail: "a redirect leads to text that is no URL, or too long a one")
    }
    self.url = imageURL
    parsedURL = next
  }
}

extension Failure {
  fileprivate static func redirectToOtherScheme(_ status: Int?) -> Failure {
    Failure(
      stage: .fetch, code: .unsupportedScheme, httpStatus: status,
      detail: "a redirect leads to a URL that is neither http nor https")
  }
}
