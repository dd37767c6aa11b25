import ImgSystem
import TestFiles

/// A file system in memory of a size, for one program and those that it starts: mounted in a
/// namespace of theirs (user_namespaces(7)), it takes no privilege and goes when they have ended.
package struct SmallDisk {
  package let directory: String
  private let kibibytes: Int

  /// - Parameter directory: where it is mounted; there is one already.
  package init(directory: String, kibibytes: Int) {
    self.directory = directory
    self.kibibytes = kibibytes
  }

  /// Whether this machine allows it.
  package static func isAvailable() throws -> Bool {
    let mountPoint = try TestDirectory()
    let command = SmallDisk(directory: mountPoint.path, kibibytes: 64).command(["/bin/true"])
    let outside = try TestDirectory()
    let run = try ProgramRun(
      command[0], Array(command.dropFirst()), environment: ["PATH": "/usr/bin:/bin"], in: outside)
    return try run.wait().exitCode == 0
  }

  /// The command that runs another one where the file system is mounted; its process is the other's.
  package func command(_ command: [String]) -> [String] {
    let script = "mount -t tmpfs -o size=\(kibibytes)k,mode=700 tmpfs \"$0\" && exec \"$@\""
    return ["/usr/bin/unshare", "-Urm", "/bin/sh", "-c", script, directory] + command
  }

  /// The command that runs another one where a process sees the file system (nsenter(1)).
  package static func command(_ command: [String], besides processID: Int32) -> [String] {
    ["/usr/bin/nsenter", "-t", "\(processID)", "-U", "-m", "--preserve-credentials"] + command
  }

  /// Where this process finds a file of the mounted file system, by a process that sees it
  /// (proc(5), `root`).
  package func path(_ name: String, seenBy processID: Int32) -> String {
    "/proc/\(processID)/root\(directory)/\(name)"
  }
}
