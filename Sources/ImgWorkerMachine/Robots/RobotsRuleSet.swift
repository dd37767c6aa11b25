package import ImgModel

/// What an origin's robots.txt permits, as the parser that fetches the URLs reads them.
package protocol RobotsRuleSet: Sendable {
  /// The rules, as they are remembered. Their size stands for the memory that they take.
  var text: String { get }

  /// - Throws: a ``Failure`` if that parser refuses the URL.
  func permits(_ url: ImageURL) throws(Failure) -> Bool
}

/// The rules of an origin and how long they hold.
package struct KnownRobots: Sendable {
  package let rules: any RobotsRuleSet
  package let expiresAt: WallTime

  package init(_ rules: any RobotsRuleSet, expiresAt: WallTime) {
    self.rules = rules
    self.expiresAt = expiresAt
  }
}

/// What came of the request for a robots.txt.
package enum RobotsAnswer: Sendable {
  /// The rules; those that permit everything if the origin has no such file.
  case rules(any RobotsRuleSet)
  /// The file is not available, which closes the origin for now (RFC 9309 section 2.3.1.4).
  ///
  /// - isDeferred: whether nothing was sent, because the host is in a cooldown.
  case unavailable(Failure, isDeferred: Bool)
}
