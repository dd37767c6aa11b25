import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

/// A store on a disk that is full from the beginning.
@Suite(.timeLimit(.minutes(20)))
struct FullDiskTests {
  @Test(
    .enabled("a tmpfs of its own needs user namespaces") { try SmallDisk.isAvailable() },
    arguments: [0, 8, 40])
  func `creating a store without disk space is an error, not a crash`(
    freeKibibytes: Int
  ) throws {
    let directory = try TestDirectory()
    let disk = SmallDisk(directory: directory.path, kibibytes: 128)
    let program = try Programs.path(of: "imgcrashtest")
    let script = "head -c \((128 - freeKibibytes) << 10) /dev/zero > \"$0\"/ballast; exec \"$@\""
    let command = disk.command([
      "/bin/sh", "-c", script, directory.path, program, "serve", directory.file("store"),
      "\(1 << 24)",
    ])
    let outside = try TestDirectory()
    let run = try ProgramRun(
      command[0], Array(command.dropFirst()),
      environment: ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"], in: outside)
    let result = try run.wait()
    #expect(result.exitCode == 2, "\(result)")
    #expect(result.messages.contains("is full, or its disk is"))
  }
}
