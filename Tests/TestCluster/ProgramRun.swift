import CLinux
import FoundationEssentials
import Glibc
package import ImgSystem
package import TestFiles

/// One run of a program: a child of this process, its output caught in files, ended with this
/// object at the latest.
package final class ProgramRun {
  private let child: ChildProcess
  private let outputPath: String
  private let messagesPath: String

  /// How long a program may take when the test does not say: far longer than any does, so that only
  /// one that hangs is given up.
  package static let patience = Duration.seconds(240)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - executable: its path.
  ///   - inputPath: the file that is its standard input.
  ///   - descriptors: further descriptors that it finds, beside its standard streams.
  package init(
    _ executable: String, _ arguments: [String], environment: [String: String],
    inputPath: String = "/dev/null", descriptors: [(parent: CInt, child: CInt)] = [],
    in directory: TestDirectory
  ) throws {
    let name = "run-\(UInt64.random(in: 0...UInt64.max))"
    outputPath = directory.file("\(name).output")
    messagesPath = directory.file("\(name).messages")
    let input = try FileIO.open(readingFrom: inputPath)
    let output = try FileIO.create(outputPath)
    let messages = try FileIO.create(messagesPath)
    let streams: [(parent: CInt, child: CInt)] = [
      (parent: input.rawValue, child: 0), (parent: output.rawValue, child: 1),
      (parent: messages.rawValue, child: 2),
    ]
    child = try ChildProcess.spawn(
      executable: executable, arguments: arguments, environment: environment,
      descriptors: streams + descriptors)
  }

  deinit {
    guard isRunning else { return }
    child.signal(9)
    _ = child.waitForExit(until: .now + Self.patience)
  }

  package var processID: Int32 { child.processID }

  package var isRunning: Bool { child.reap() == nil }

  package func signal(_ signal: CInt) {
    child.signal(signal)
  }

  /// Waits for its end.
  ///
  /// - Returns: how it ended and what it said; without a status when it still runs.
  package func wait(atMost time: Duration = patience) throws -> ProgramResult {
    let status = child.waitForExit(until: .now + time)
    return ProgramResult(
      status: status, outputBytes: try Self.bytes(of: outputPath), messages: try messages())
  }

  /// The whole lines that it has written to standard output until now.
  package func lines() throws -> [String] {
    let output = String(decoding: try Self.bytes(of: outputPath), as: UTF8.self)
    return output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      .map(String.init)
  }

  /// What it has said on standard error until now.
  package func messages() throws -> String {
    String(decoding: try Self.bytes(of: messagesPath), as: UTF8.self)
  }

  private static func bytes(of path: String) throws -> [UInt8] {
    try FileIO.contents(of: path, upTo: 256 << 20)
  }
}

/// How a program ended, and what it said.
package struct ProgramResult {
  /// `nil` when it had not ended in time.
  package let status: ExitStatus?
  /// Standard output.
  package let outputBytes: [UInt8]
  /// Standard error.
  package let messages: String

  /// Standard output as text.
  package var output: String { String(decoding: outputBytes, as: UTF8.self) }

  /// The lines of standard output.
  package var lines: [String] { output.split(separator: "\n").map(String.init) }

  /// The exit status; `nil` when it was killed or still runs.
  package var exitCode: Int32? {
    if case .exited(let code) = status { code } else { nil }
  }
}

/// Where the built programs lie: beside the program that runs the tests.
package enum Programs {
  package static func path(of program: String) throws -> String {
    guard let directory = ThisProcess.executableDirectory else {
      throw ClusterError("there is no /proc to find the programs by")
    }
    return "\(directory)/\(program)"
  }

  /// Makes an executable copy of a file.
  ///
  /// Another process writes it. What this one has open for writing is open in its children, too, from
  /// their fork to their exec, and cannot be executed as long (ETXTBSY, execve(2)).
  package static func install(_ source: String, as path: String) throws {
    let child = try ChildProcess.spawn(
      executable: "/usr/bin/install", arguments: ["-m", "700", source, path], environment: [:],
      descriptors: [])
    guard child.waitForExit(until: .now + ProgramRun.patience) == .exited(0) else {
      throw ClusterError("\(source) cannot be installed as \(path)")
    }
  }
}

/// Why a test cannot have its cluster, in a sentence.
package struct ClusterError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// A named pipe. A program that reads it as a file waits in open(2) until the pipe has a writer, and
/// then in read(2) until the writer closes it (fifo(7)).
package final class NamedPipe {
  package let path: String

  package init(path: String) throws {
    self.path = path
    guard unsafe mkfifo(path, 0o600) == 0 else { throw ClusterError("mkfifo \(path): \(errno)") }
  }

  /// Opens the pipe for writing as soon as a program has opened it for reading.
  ///
  /// - Returns: the end that the reader waits for; closing it lets the reader go on.
  package func openForWriting(
    within time: Duration = ProgramRun.patience
  ) throws -> OwnedDescriptor {
    let deadline = ContinuousClock.now + time
    while ContinuousClock.now < deadline {
      let descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      if descriptor >= 0 { return OwnedDescriptor(adopting: descriptor) }
      ThisProcess.pause(for: .milliseconds(1))
    }
    throw ClusterError("nothing reads \(path)")
  }
}

/// A process that another process started, held by a descriptor (pidfd_open(2)): it can be signalled
/// and its end awaited, and it is never mistaken for another that got its number later.
package final class WatchedProcess: Sendable {
  package let processID: Int32
  private let pidfd: OwnedDescriptor

  /// - Returns: `nil` when there is no such process.
  package init?(_ processID: Int32) {
    let descriptor = img_pidfd_open(processID)
    guard descriptor >= 0 else { return nil }
    pidfd = OwnedDescriptor(adopting: descriptor)
    self.processID = processID
  }

  /// Without effect when it has ended.
  package func signal(_ signal: CInt) {
    _ = img_pidfd_send_signal(pidfd.rawValue, signal)
  }

  /// Waits for its end.
  ///
  /// - Returns: whether it has ended within the time.
  package func hasEnded(within time: Duration = ProgramRun.patience) throws -> Bool {
    try UnixSocket.waitReadable(pidfd.rawValue, until: .now + time)
  }
}

/// How many descriptors a process has open; `nil` when it is gone.
package func openDescriptorCount(of processID: Int32) -> Int? {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd"))?.count
}

/// How many files in memory that hold a thumbnail a process has open.
package func openMemoryFileCount(of processID: Int32) -> Int {
  openFilePaths(of: processID).count { $0.hasPrefix("/memfd:imgctl-bytes") }
}

/// The paths of the files that a process has open, with ` (deleted)` behind those that are gone
/// (proc(5), /proc/pid/fd).
package func openFilePaths(of processID: Int32) -> [String] {
  let directory = "/proc/\(processID)/fd"
  let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  // One that is closed meanwhile is not open.
  return names.compactMap {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")
  }
}

/// The children of a process's main thread, including dead ones that are not reaped (proc(5)).
package func childProcessIDs(of processID: Int32) -> [Int32] {
  let path = "/proc/\(processID)/task/\(processID)/children"
  let bytes = (try? FileIO.contents(of: path, upTo: 1 << 16)) ?? []
  return String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
}

/// The most memory that a process had at any time, in bytes; `nil` when it is gone.
package func peakByteCount(of processID: Int32) -> Int? {
  statusNumber("VmHWM", of: processID).map { $0 << 10 }
}

/// How many filters of system calls hold for a process, those of its parents too; `nil` when it is
/// gone.
package func filterCount(of processID: Int32) -> Int? {
  statusNumber("Seccomp_filters", of: processID)
}

private func statusNumber(_ name: String, of processID: Int32) -> Int? {
  statusField(name, of: processID).flatMap { Int($0) }
}

/// The first word of a field in the status of a process (proc(5), /proc/pid/status).
private func statusField(_ name: String, of processID: Int32) -> Substring? {
  let bytes = (try? FileIO.contents(of: "/proc/\(processID)/status", upTo: 1 << 16)) ?? []
  let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    .first { $0.hasPrefix("\(name):") }
  return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
}
