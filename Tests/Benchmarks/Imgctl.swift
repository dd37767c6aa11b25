import ImgSystem

/// The program `imgctl` as a person calls it: a process a call.
struct Imgctl {
  let programDirectory: String
  let socketPath: String
  let workDirectory: String

  private static let deadline = Duration.seconds(600)

  /// Runs a command to its end.
  ///
  /// - Returns: how long the process lived.
  @discardableResult
  func run(_ arguments: [String]) throws -> Duration {
    try run(program: programDirectory + "/imgctl", arguments)
  }

  /// The most memory that a command had resident, in bytes.
  ///
  /// GNU time starts the command from a process of its own: the kernel counts the memory of the
  /// process that forked as the child's, and ours would hide what is measured.
  func peakMemory(_ arguments: [String]) throws -> Double {
    let file = workDirectory + "/peak-memory"
    try run(
      program: "/usr/bin/time",
      ["--format=%M", "--output=\(file)", programDirectory + "/imgctl"] + arguments)
    let text = String(decoding: try FileIO.contents(of: file, upTo: 4_096), as: UTF8.self)
    guard let kibibytes = Double(text.filter { $0 != "\n" }) else {
      throw BenchError("GNU time wrote \(text)")
    }
    return kibibytes * 1_024
  }

  /// Runs a program that gets a list of bodies.
  ///
  /// GNU time tells the processor time of a child, in hundredths of a second.
  func pass(_ executable: String, _ arguments: [String]) throws -> TransferPass {
    let file = workDirectory + "/processor-time"
    let duration = try run(
      program: "/usr/bin/time",
      ["--format=%U %S", "--output=\(file)", executable] + arguments)
    let text = String(decoding: try FileIO.contents(of: file, upTo: 4_096), as: UTF8.self)
    let times = text.split { $0 == " " || $0 == "\n" }.compactMap { Double($0) }
    guard times.count == 2 else { throw BenchError("GNU time wrote \(text)") }
    return TransferPass(seconds: duration.inSeconds, processorSeconds: times[0] + times[1])
  }

  /// A new file of lines for a list.
  func list(named name: String, _ lines: some Sequence<String>) throws -> String {
    let path = "\(workDirectory)/\(name)"
    let file = try FileIO.create(path)
    try FileIO.writeAll(file.rawValue, lines.joined(separator: "\n") + "\n")
    return path
  }

  /// Runs any program to its end, without its output.
  ///
  /// - Parameter executable: a path.
  /// - Returns: how long the process lived.
  @discardableResult
  func run(program executable: String, _ arguments: [String]) throws -> Duration {
    let messages = try FileIO.open(appendingTo: workDirectory + "/messages")
    let nothing = try FileIO.open(appendingTo: "/dev/null")
    var environment = ThisProcess.environment
    environment["IMGCTL_SOCKET"] = socketPath
    environment["IMGCTL_ALLOW_NETWORK"] = "127.0.0.0/8"
    // Should this process be killed, its coordinator leaves by itself.
    environment["IMGCTL_IDLE_EXIT"] = "1m"
    let start = ContinuousClock.now
    let child = try ChildProcess.spawn(
      executable: executable, arguments: arguments, environment: environment,
      descriptors: [(parent: nothing.rawValue, child: 1), (parent: messages.rawValue, child: 2)])
    let status = child.waitForExit(until: start + Self.deadline)
    let duration = start.duration(to: .now)
    guard status == .exited(0) else {
      let end = status?.description ?? "did not end within \(Self.deadline)"
      child.signal(9)
      let line = ([executable] + arguments).joined(separator: " ")
      throw BenchError("\(line) \(end); it said:\n\(try lastMessages())")
    }
    return duration
  }

  /// The end of what the commands of this run have said on standard error.
  private func lastMessages() throws -> String {
    let all = try FileIO.contents(of: workDirectory + "/messages", upTo: 1 << 20)
    return String(decoding: all.suffix(1_000), as: UTF8.self)
  }
}
