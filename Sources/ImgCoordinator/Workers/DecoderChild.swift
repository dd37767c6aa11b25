import Glibc
import ImgModel
import ImgSystem
import ImgTransport

/// One decoder process: a child of the coordinator that serves a worker.
final class DecoderChild {
  /// The number that its worker gave it.
  let id: DecoderID
  let worker: WorkerID
  /// The number of its worker.
  let workerNumber: Int
  private let child: ChildProcess
  /// Whether it was told to end.
  private(set) var isKilled = false

  private static let environment = [
    // The backtracer of Swift is a program of its own. The decoder may not start one, and that attempt
    // would hide the signal that it dies of.
    "SWIFT_BACKTRACE": "enable=no",
    // Huge pages for large allocations, where the kernel grants them on request: a large progressive
    // JPEG has more than 100 MB of coefficients, which cause a page fault for each 4 KiB otherwise
    // (glibc manual, "Memory Allocation Tunables").
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
  ]

  /// Starts the program with nothing of this process but the given descriptors.
  ///
  /// - Parameters:
  ///   - executable: the path of `imgdecoder`.
  ///   - channel: its end of the connection to its worker.
  ///   - errorStream: for what it writes to standard output and error.
  init(
    _ id: DecoderID, of worker: WorkerID, workerNumber: Int, executable: String,
    channel: PassedFile,
    errorStream: CInt
  ) throws(SystemError) {
    self.id = id
    self.worker = worker
    self.workerNumber = workerNumber
    let nothing = try FileIO.open(readingFrom: "/dev/null")
    child = try ChildProcess.spawn(
      executable: executable, arguments: [], environment: Self.environment,
      descriptors: [
        (parent: nothing.rawValue, child: STDIN_FILENO),
        (parent: errorStream, child: STDOUT_FILENO),
        (parent: errorStream, child: STDERR_FILENO),
        (parent: channel.descriptor, child: DecoderDescriptor.channel),
      ])
    // A picture takes a decoder milliseconds. Coordinator and workers need microseconds at a time,
    // and a request waits for them several times.
    child.lowerPriority()
  }

  var processID: Int32 { child.processID }

  /// Names it in the log.
  var name: String { "worker \(workerNumber)'s decoder (process \(processID))" }

  /// Readable when the process has ended.
  var exitDescriptor: CInt { child.descriptor }

  func kill() {
    isKilled = true
    child.signal(SIGKILL)
  }

  /// Kills a process that nothing else knows.
  func killAndReap() {
    kill()
    _ = child.waitForExit(until: .now + .seconds(1))
  }

  /// How the process ended; `nil` while it runs.
  func reap() -> ExitStatus? { child.reap() }
}
