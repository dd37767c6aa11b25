import FoundationEssentials
import Glibc
import ImgSystem

/// All attempts in one sandbox, each in a process of its own, because some end the process.
struct AttemptRun {
  let lock: Lock

  private static let patience = Duration.seconds(60)

  /// Prints a line for each attempt: the attempt, a tab, and what came of it.
  func run() throws {
    let scene = try Scene.make()
    defer { try? FileManager.default.removeItem(atPath: scene.directory) }
    for attempt in Attempt.allCases {
      let result = try result(of: attempt, in: scene)
      try FileIO.writeAll(STDOUT_FILENO, "\(attempt.rawValue)\t\(result)\n")
    }
  }

  private func result(of attempt: Attempt, in scene: Scene) throws -> String {
    guard let programs = ThisProcess.executableDirectory else {
      throw UsageError(description: "there is no /proc to find this program by")
    }
    var sockets = try UnixSocket.pair()
    let socket = sockets.takeFirst()
    let child = try ChildProcess.spawn(
      executable: "\(programs)/imgsandboxtest",
      arguments: ["attempt", lock.rawValue, attempt.rawValue] + scene.arguments,
      environment: [:], descriptors: [(parent: socket.rawValue, child: STDIN_FILENO)])
    switch child.waitForExit(until: .now + Self.patience) {
    case .exited(0): return "allowed"
    case .exited(Self.failedLockStatus): return "the lock failed"
    case .exited(let code): return "refused (\(SystemError(operation: "", code: code).name))"
    case .signalled(SIGSYS): return "killed"
    case .signalled(let signal): return "killed by signal \(signal)"
    case nil:
      child.signal(SIGKILL)
      return "no end"
    }
  }

  // MARK: - In the child

  private static let failedLockStatus: Int32 = 255

  /// Locks this process, makes one attempt, and exits with its errno value, 0 for success.
  static func perform(_ attempt: Attempt, lock: Lock, scene: Scene) -> Never {
    do {
      try lock.apply(in: scene)
    } catch {
      try? FileIO.writeAll(STDERR_FILENO, "imgsandboxtest: \(error)\n")
      _exit(failedLockStatus)
    }
    do throws(SystemError) {
      try attempt.perform(in: scene)
      _exit(0)
    } catch {
      _exit(error.code)
    }
  }
}

extension SystemError {
  /// The C name of the errno value.
  fileprivate var name: String {
    description.split(separator: "(").last.map { String($0.dropLast()) } ?? "\(code)"
  }
}
