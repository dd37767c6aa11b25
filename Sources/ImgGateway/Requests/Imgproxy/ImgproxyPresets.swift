import ImgModel
package import ImgSettings

/// Named lists of options in imgproxy's notation, from the configuration: `sharp=sh:0.7/q:90`.
///
/// The preset `default` applies to every request of imgproxy's form, before the options of its path.
package struct ImgproxyPresets: Hashable, Sendable {
  private var presets: [String: [ImgproxyOption]] = [:]

  static let defaultName = "default"

  package init() {}

  /// - Parameter definitions: a name, `=`, and options with slashes between them. Of two definitions of one
  ///   name, the last one counts.
  /// - Throws: the reason for the first definition that cannot be applied.
  package init(parsing definitions: [String]) throws(InvalidValue) {
    for definition in definitions {
      let (name, options) = try Self.parts(of: definition)
      presets[name] = options
    }
    // A preset may use one that is defined after it.
    for name in presets.keys.sorted() { try check(name) }
  }

  subscript(name: String) -> [ImgproxyOption]? { presets[name] }

  private static func parts(
    of definition: String
  ) throws(InvalidValue) -> (String, [ImgproxyOption]) {
    let sides = definition.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let segments = sides.count == 2 ? sides[1].split(separator: "/") : []
    guard !sides[0].isEmpty, !segments.isEmpty, segments.allSatisfy({ $0.contains(":") }) else {
      throw InvalidValue(
        "\(Spelling.quoted(definition)) is not a preset; write a name and options, such as "
          + "sharp=sh:0.7/q:90")
    }
    do throws(RequestRejection) {
      var options: [ImgproxyOption] = []
      for segment in segments { options.append(try ImgproxyOption(segment)) }
      return (String(sides[0]), options)
    } catch {
      throw InvalidValue("\(Spelling.quoted(definition)) is not a preset: \(error.message)")
    }
  }

  private func check(_ name: String) throws(InvalidValue) {
    do throws(RequestRejection) {
      // A preset that expires is checked as if it had not yet.
      var options = ImgproxyOptions(presets: self, now: .distantPast)
      try options.applyPreset(name)
      _ = try options.variant()
    } catch {
      throw InvalidValue(
        "has the preset \(Spelling.quoted(name)), which is wrong: \(error.message)")
    }
  }
}
