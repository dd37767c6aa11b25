package import ImgSettings

/// `imgctl serve`: becomes the gateway.
package struct ServeCommand: Command {
  /// Those of `imggateway`.
  package let arguments: [String]

  package static let description = CommandDescription(
    name: "imgctl serve", summary: "serve thumbnails and a gallery over HTTP",
    options: GatewayOptions.all + GatewayOptions.places + [GatewayInvocation.json],
    notes: GatewayInvocation.description.notes,
    examples: [
      .init("imgctl serve", "Serves the gallery at http://127.0.0.1:8080/ until Ctrl-C."),
      .init(
        "imgctl serve --listen 0.0.0.0:8080 --key-file keys --allow-origin 'https://*.example.org/'",
        "Serves signed requests of other machines, for pictures of one origin."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    // Variables are read by the gateway itself.
    _ = try GatewaySettings(arguments, environment: [:])
    self.arguments = arguments.arguments(of: Self.description.options)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try context.becomeGateway(arguments)
  }
}
