import FoundationEssentials
import ImgModel
import TestFiles
import Testing

@testable import ImgClient

@Suite(.timeLimit(.minutes(20)))
struct CoordinatorLauncherTests {
  private let directory: TestDirectory

  init() throws {
    directory = try TestDirectory()
  }

  /// A launcher of a shell script in place of a coordinator.
  private func launcher(script: String, data: String? = nil) -> CoordinatorLauncher {
    CoordinatorLauncher(
      executable: "/bin/sh", arguments: ["-c", script], socketPath: directory.file("socket"),
      dataDirectory: data ?? directory.file("data"), logPath: directory.file("log"))
  }

  private func failure(of launcher: CoordinatorLauncher) -> String? {
    do throws(ClientError) {
      _ = try launcher.connect()
    } catch {
      return error.description
    }
    return nil
  }

  @Test func `a coordinator that answers is not started again`() throws {
    let coordinator = try ScriptedCoordinator(socketPath: directory.file("socket"))
    do {
      let (client, wasStarted) = try launcher(script: "exit 1").connect()
      #expect(!wasStarted)
      #expect(client.coordinatorProcessID == 7)
    }
    _ = coordinator.requests()
    #expect(!FileManager.default.fileExists(atPath: directory.file("log")))
  }

  @Test func `the reason of a coordinator that cannot start is passed on`() {
    let reason = failure(of: launcher(script: "printf 'no room' >&3"))
    #expect(reason == "the coordinator did not start: no room")
  }

  @Test func `a coordinator that ends without a word is looked up in its log`() throws {
    let reason = failure(of: launcher(script: "echo cause >&2"))
    #expect(
      reason == "the coordinator did not start: it ended before it was ready; see "
        + directory.file("log"))
    let log = try Data(contentsOf: URL(filePath: directory.file("log")))
    #expect(String(decoding: log, as: UTF8.self) == "cause\n")
  }

  @Test func `a data directory that cannot be made is the reason, and no process is started`() {
    let reason = failure(of: launcher(script: "printf 'no room' >&3", data: "/dev/null/data"))
    #expect(reason?.contains("the data directory /dev/null/data cannot be used") == true)
    #expect(!FileManager.default.fileExists(atPath: directory.file("log")))
  }
}
