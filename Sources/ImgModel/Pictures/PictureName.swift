/// The identity of a picture: requests with the same name share one fetch, and the store finds the
/// picture by its name.
package struct PictureName: Hashable, Sendable {
  /// The URL without the ignored query parameters, or the cache key.
  package let text: String
  /// The added request headers, because other headers may select another picture.
  package let headers: [HeaderField]

  package init(text: String, headers: [HeaderField] = []) {
    self.text = text
    self.headers = headers
  }

  /// The name of a picture that is requested with default fetch options.
  package init(_ url: ImageURL) {
    self.init(text: url.text)
  }

  /// The URL of a picture's text. That of a version that a request named has the version as a fragment.
  package static func url(ofText text: String) -> Substring { text.prefix { $0 != "#" } }
}
