import ImgModel

extension ImageJobRequest {
  /// The options as the cluster knows them.
  ///
  /// - Throws: ``ImageError/Code/invalidRequest``.
  func options() throws(ImageError) -> RequestOptions {
    guard cachePolicy != .bypass else {
      throw ImageError(invalidRequest: "a job stores its thumbnails, so it cannot bypass the store")
    }
    var request = load(of: "")
    request.delay = delay
    var options = try ClusterRequest.options(of: request)
    options.priority = priority.rawValue
    options.fetch.respectsOptOut = true
    return options
  }

  var lineOrder: LineOrder {
    switch order {
    case .firstInFirstOut: .firstInFirstOut
    case .lastInFirstOut: .lastInFirstOut
    }
  }

}

extension ImageError {
  static var emptyList: ImageError { ImageError(invalidRequest: "the list has no URL") }
}
