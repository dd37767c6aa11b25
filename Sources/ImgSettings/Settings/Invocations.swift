import ImgModel

/// A parsed command line of `imgcoordinator`.
package enum CoordinatorInvocation: Hashable, Sendable {
  /// Print this text.
  case print(String)
  case run(Settings)

  package static let description = CommandDescription(
    name: "imgcoordinator",
    summary: "run the coordinator in the foreground",
    options: Setting.options + [.version],
    notes: [Setting.note],
    examples: [
      .init(
        "imgcoordinator --workers 4 --transfers 32",
        "Runs on the default socket until SIGTERM or imgctl stop.")
    ])

  /// - Parameter arguments: without the program's name.
  package init(
    arguments: [String], environment: [String: String], userID: UInt32
  ) throws(UsageError) {
    let reader = try ArgumentReader(arguments, for: Self.description)
    if let text = reader.printedText {
      self = .print(text)
      return
    }
    self = .run(
      try Settings(reader, environment: environment, userID: userID, startedBy: .person))
  }
}

/// A parsed command line of `imggateway`.
package enum GatewayInvocation: Sendable {
  /// Print this text.
  case print(String)
  /// The second value says where the cluster is.
  case run(GatewaySettings, Settings)

  package static let json = OptionDescription(
    "--json", help: "Print the address as JSON when requests are answered.")

  package static let description = CommandDescription(
    name: "imggateway",
    summary: "serve thumbnails over HTTP",
    options: GatewayOptions.all + GatewayOptions.places + [json, .version],
    notes: [
      Setting.note,
      "Starts a coordinator if none answers. TLS and HTTP/2 are for a reverse proxy in front. What it keeps in "
        + "memory is a share of the coordinator's --memory-budget.",
    ],
    examples: [
      .init("imggateway", "Serves the gallery and pictures at http://127.0.0.1:8080/."),
      .init(
        "imggateway --listen 0.0.0.0:8080 --key-file /etc/imgctl/keys",
        "Serves signed requests of other machines."),
    ])

  /// - Parameter arguments: without the program's name.
  package init(
    arguments: [String], environment: [String: String], userID: UInt32
  ) throws(UsageError) {
    let reader = try ArgumentReader(arguments, for: Self.description)
    if let text = reader.printedText {
      self = .print(text)
      return
    }
    self = .run(
      try GatewaySettings(reader, environment: environment),
      try Settings(reader, environment: environment, userID: userID, startedBy: .command))
  }
}
