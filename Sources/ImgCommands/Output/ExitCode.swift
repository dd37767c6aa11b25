/// The exit code of a command.
package enum ExitCode: Int32, Sendable {
  case success = 0
  /// The command finished, but some images failed.
  case someFailed = 1
  /// The request makes no sense or cannot be done here. The command prints the reason.
  case wrongUse = 2
  /// No coordinator could be reached or started.
  case noCoordinator = 3
  /// Ctrl-C while a job was watched; the job continues. The value is 128 plus the number of SIGINT,
  /// as in shells.
  case interrupted = 130
}
