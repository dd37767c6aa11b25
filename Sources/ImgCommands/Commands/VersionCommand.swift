import ImgModel
package import ImgSettings

/// `imgctl version`: prints the version.
package struct VersionCommand: Command {
  package let isJSON: Bool

  /// The output, also of `imgctl --version`.
  static let text = "imgctl \(Build.version)\n"

  package static let description = CommandDescription(
    name: "imgctl version", summary: "print the version",
    options: [.json],
    examples: [.init("imgctl version --json", "Also prints the version of the protocol.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try isJSON ? context.output.write(json: Report()) : context.output.write(Self.text)
    return .success
  }

  private struct Report: Encodable {
    let version = Build.version
    let protocolVersion = Build.protocolVersion

    enum CodingKeys: String, CodingKey {
      case version
      case protocolVersion = "protocol"
    }
  }
}
