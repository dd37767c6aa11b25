package import ImgModel

/// What a viewer asks for.
package struct ViewerRequest: Hashable {
  package let url: String
  package let options: RequestOptions
  /// A viewer of the same name that still waits is superseded by this one.
  package var name: String?
  /// See `GetRequest.bypassesStore` in ImgWire.
  package var bypassesStore = false
  /// What the viewer is told while the picture arrives.
  package var updates: ArrivalUpdates = []
  /// See `GetRequest.maximumRetryAfter` in ImgWire.
  package var maximumRetryAfter: Duration?

  package init(url: String, options: RequestOptions) {
    self.url = url
    self.options = options
  }
}
