/// Reads the query of weserv, `?url=…&w=300&h=200&fit=cover`.
///
/// Unlike weserv, it refuses what it does not have, so that no picture differs from what was asked for. Parameters
/// that name no option of any server are ignored, see ``IgnoredParameter``.
enum WeservRequest {
  /// - Throws: 400 for a query that cannot be read and for an address that is no URL; 422 for an option.
  static func query(_ parameters: QueryParameters) throws(RequestRejection) -> ImageQuery {
    try parameters.requireUniqueNames()
    var options = WeservOptions()
    var seen: Set<WeservOption> = []
    for parameter in parameters.parameters where parameter.name != RequestSignatures.parameterName {
      let value = OptionValue(name: parameter.name, text: parameter.value)
      guard let option = WeservOption(name: parameter.name) else {
        if WeservOption.isOff(value) { continue }
        switch ignored(parameter.name, besides: parameters) {
        case .version: options.version = value.version
        case .campaign: break
        case nil: throw unknown(parameter.name, besides: parameters)
        }
        continue
      }
      guard seen.insert(option).inserted else {
        throw .invalidOption(parameter.name, "is there under two names; send one of them")
      }
      try options.apply(option, value)
    }
    return try options.query()
  }

  /// - Returns: `nil` for a parameter that may belong to an address that is not escaped.
  private static func ignored(
    _ name: String, besides parameters: QueryParameters
  ) -> IgnoredParameter? {
    parameters["url"]?.contains("?") == true ? nil : IgnoredParameter(name)
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
