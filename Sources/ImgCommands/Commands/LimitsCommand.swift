import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl limits`: shows the limits of the running coordinator, or changes some of them.
package struct LimitsCommand: Command {
  /// `nil` if the command only shows the limits.
  package let change: LimitChange?
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl limits", summary: "show the limits of the running coordinator, or change them",
    options: LimitChange.options + [.json] + OptionDescription.places,
    notes: [
      "A change applies at once, until the coordinator ends. Limits that are not given keep their "
        + "values. The other limits are set by imgctl start."
    ],
    examples: [
      .init("imgctl limits", "Prints the same table as imgctl status --limits."),
      .init("imgctl limits --transfers-per-host 2 --rate-per-host 30/m", "Less load on each host."),
      .init(
        "imgctl limits --default-expiry 1d",
        "Applies to thumbnails stored from now on."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
    let isChanging = LimitChange.options.contains { arguments.contains($0) }
    change = isChanging ? try LimitChange(arguments) : nil
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let client = try context.runningCoordinator()
    let status = try change.map { try client.limit($0) } ?? client.status()
    return try LimitTable.show(status, isJSON: isJSON, in: context)
  }
}
