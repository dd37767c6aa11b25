/// How a command ends, for the shell that called it.
package enum ExitCode: Int32, Sendable {
  case success = 0
  /// The work was done, but some images failed.
  case someFailed = 1
  /// What was asked makes no sense, or cannot be done here: the reason is said.
  case wrongUse = 2
  /// No coordinator could be reached or started.
  case noCoordinator = 3
  /// Ctrl-C while a job was watched, which goes on: 128 and the number of SIGINT, as shells have
  /// it.
  case interrupted = 130
}
