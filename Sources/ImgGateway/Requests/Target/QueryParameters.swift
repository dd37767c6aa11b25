import ImgSettings

/// The parameters of a query, decoded, in their order.
package struct QueryParameters: Hashable, Sendable {
  package struct Parameter: Hashable, Sendable {
    package let name: String
    /// Empty for a name without `=`, too.
    package let value: String
  }

  package let parameters: [Parameter]

  /// The maximum number of parameters. No resource has as many.
  package static let maximumCount = 128

  /// - Parameter query: with its escapes. Empty parts between two `&` are skipped.
  /// - Throws: 400 for more than ``maximumCount`` parameters, and for what ``EscapedText`` refuses.
  package init(_ query: String) throws(RequestRejection) {
    let parts = query.split(separator: "&", maxSplits: Self.maximumCount)
    guard parts.count <= Self.maximumCount else {
      throw .malformedTarget("the query has more than \(Self.maximumCount) parameters")
    }
    var parameters: [Parameter] = []
    for part in parts {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      parameters.append(
        Parameter(
          name: try EscapedText.decoded(sides[0]),
          value: try sides.count == 2 ? EscapedText.decoded(sides[1]) : ""))
    }
    self.parameters = parameters
  }

  /// The first value of a name, as Picsum and weserv have it; `nil` without one.
  package subscript(name: String) -> String? {
    parameters.first { $0.name == name }?.value
  }

  /// Refuses parameters that are there twice: caches, signatures and servers do not agree which one counts.
  ///
  /// - Throws: 400.
  func requireUniqueNames() throws(RequestRejection) {
    var names: Set<String> = []
    for parameter in parameters where !names.insert(parameter.name).inserted {
      throw .malformedTarget(
        "the parameter \(Spelling.quoted(parameter.name)) is there twice; send it once")
    }
  }
}
