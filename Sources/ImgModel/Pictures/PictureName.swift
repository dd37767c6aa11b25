/// What a picture is known by: requests of one name share one fetch, and what is kept of it is found
/// under its name.
package struct PictureName: Hashable, Sendable {
  /// The URL without what does not count of it, or what a person calls the picture in its place.
  package let text: String
  /// What its origin is asked with, because other fields may mean another picture.
  package let headers: [HeaderField]

  package init(text: String, headers: [HeaderField] = []) {
    self.text = text
    self.headers = headers
  }

  /// Of a picture that is asked for in no special way.
  package init(_ url: ImageURL) {
    self.init(text: url.text)
  }
}
