/// The versions of the wire protocol and of the programs.
package enum Build {
  /// Raise it with every change that an older peer would misread. A new ``Failure/Code`` is such a
  /// change, because decoding is strict.
  package static let protocolVersion = 42
  package static let version = "0.1.0"
}
