/// Reads the query of weserv, `?url=…&w=300&h=200&fit=cover`.
///
/// Unlike weserv, it refuses what it does not have, so that no picture differs from what was asked for.
enum WeservRequest {
  /// - Throws: 400 for a query that cannot be read and for an address that is no URL; 422 for an option.
  static func query(_ parameters: QueryParameters) throws(RequestRejection) -> ImageQuery {
    try parameters.requireUniqueNames()
    var options = WeservOptions()
    var seen: Set<WeservOption> = []
    for parameter in parameters.parameters where parameter.name != RequestSignatures.parameterName {
      guard let option = WeservOption(name: parameter.name) else {
        throw unknown(parameter.name, besides: parameters)
      }
      guard seen.insert(option).inserted else {
        throw .invalidOption(parameter.name, "is there under two names; send one of them")
      }
      try options.apply(option, OptionValue(name: parameter.name, text: parameter.value))
    }
    return try options.query()
  }

  private static func unknown(
    _ name: String, besides parameters: QueryParameters
  ) -> RequestRejection {
    if WeservOption.unsupportedNames.contains(name) { return .unsupportedOption(name) }
    if !name.isEmpty, parameters["url"]?.contains("?") == true {
      return .unknownOption(
        name,
        advice: "; if it belongs to the address of the picture, write %26 for the & before it")
    }
    return .unknownOption(name, among: WeservOption.names)
  }
}
