/// A parameter of a query that names no option: servers of pictures ignore it.
enum IgnoredParameter {
  /// Tells versions of a picture apart, as web pages do.
  case version
  /// Tells where a visitor came from.
  case campaign

  /// - Returns: `nil` for another parameter.
  init?(_ name: String) {
    if ["v", "_"].contains(name) {
      self = .version
    } else if name.hasPrefix("utm_") || ["fbclid", "gclid"].contains(name) {
      self = .campaign
    } else {
      return nil
    }
  }
}
