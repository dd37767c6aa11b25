package import ImgModel

extension RobotsRules {
  /// Whether the URL may be fetched. The parser that fetches the URL reads it: it takes `/a/../b`
  /// for `/b`.
  ///
  /// - Throws: a ``Failure`` when that parser refuses the URL.
  package func permits(_ url: ImageURL) throws(Failure) -> Bool {
    permits(target: try ParsedURL(url).target)
  }
}
