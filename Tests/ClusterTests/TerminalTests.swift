import Glibc
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import Testing

/// What commands say where a person sits at the terminal.
@Suite(.timeLimit(.minutes(20))) struct TerminalTests {
  @Test func `a list that is typed, and what would be lost, are asked for`() throws {
    let cluster = try Cluster()
    let typed = try PseudoTerminal().run(["submit", "-"], in: cluster, typing: "data:,a\n\u{4}")
    #expect(typed.status == .exited(0))
    #expect(typed.text.contains("reading URLs, one a line; end with Ctrl-D\r\n"))
    #expect(typed.text.contains("to follow it: imgctl wait 1"))
    let unasked = try PseudoTerminal().run(["cache", "reset"], in: cluster)
    #expect(unasked.text == "the store is empty\r\n")
    let picture =
      "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"
    let job = try cluster.finished(try cluster.submit([picture], "--pin")).job
    let kept = try PseudoTerminal().run(["cache", "reset"], in: cluster, typing: "n\n")
    #expect(kept.status == .exited(2))
    #expect(kept.text.contains(", pinned: 1 by job \(job); go on? [y/N] "))
    #expect(kept.text.contains("imgctl cache reset: nothing was removed\r\n"))
    let asked = try PseudoTerminal().run(["remove", "\(job)"], in: cluster, typing: "n\n")
    #expect(
      asked.text.contains(
        "pinned and not exported: 1 of job \(job), which the store may then evict; to keep them, first: imgctl "
          + "export \(job) DIR; go on? [y/N] "), "\(asked.text)")
  }

  @Test func `remove asks about the jobs that it can remove, after it has refused the others`()
    throws
  {
    let cluster = try Cluster()
    let ended = try cluster.run(["data:,a"]).job
    let waiting = try cluster.submit(["data:,a"], "--delay", "1h")
    let missing = try PseudoTerminal().run(["remove", "99"], in: cluster)
    #expect(missing.status == .exited(2))
    #expect(missing.text == "imgctl: there is no job 99; see imgctl list\r\n")
    for answer in ["n\n", "\u{4}"] {
      let kept = try PseudoTerminal().run(
        ["remove", "\(ended)", "\(waiting)", "99"], in: cluster, typing: answer)
      #expect(kept.status == .exited(2))
      #expect(
        kept.text.contains(
          "imgctl: there is no job 99; see imgctl list\r\nremoves 1 job with 1 URL and"))
      let end = "imgctl remove: nothing was removed\r\n"
      #expect(kept.text.hasSuffix(answer == "n\n" ? end : "\r\n" + end))
    }
    _ = try cluster.imgctl("cancel", "\(waiting)")
    for (job, options) in [(ended, []), (waiting, ["--yes"])] {
      let removed = try PseudoTerminal().run(
        ["remove", "\(job)"] + options, in: cluster, typing: "y\n")
      #expect(removed.status == .exited(0))
      #expect(removed.text.contains("go on?") == options.isEmpty)
      #expect(removed.text.hasSuffix("removed 1 job\r\n"))
    }
  }

  @Test func `a narrow or dumb terminal gets whole flags, and no control sequences`() throws {
    let cluster = try Cluster()
    let limits = try PseudoTerminal(columns: 60).run(["limits"], in: cluster)
    let lines = limits.text.split(separator: "\r\n")
    #expect(lines.allSatisfy { $0.count <= 60 })
    #expect(lines.contains { $0.hasPrefix("--bytes-per-second-per-host  none") })
    let dumb = try PseudoTerminal(kind: "dumb").run(["wait", "1"], in: cluster)
    #expect(dumb.text.contains("there is no job 1; see imgctl list"))
    let job = try cluster.submit(["data:,a"])
    let end = try PseudoTerminal(kind: "dumb").run(["wait", "\(job)"], in: cluster)
    #expect(end.text.contains("1 failed"))
    #expect(!end.text.contains("\u{1B}"))
  }

  @Test func `status and list fit 80 columns`() throws {
    let cluster = try Cluster()
    let name = String(repeating: "a long name ", count: 6)
    let job = try cluster.submit(
      ["https://a-host-with-a-long-name.example.invalid/picture.jpg"], "--delay", "1h", "--name",
      name)
    try #require(try eventually { try cluster.status(of: job).wait != nil })
    for arguments in [["status"], ["status", "\(job)"], ["list"], ["limits"]] {
      let shown = try PseudoTerminal().run(arguments, in: cluster)
      #expect(shown.status == .exited(0))
      let lines = shown.text.split(separator: "\r\n")
      #expect(!lines.isEmpty && lines.allSatisfy { $0.count <= 80 }, "\(shown.text)")
      guard arguments.count == 2 else { continue }
      #expect(lines.contains { $0.hasPrefix("waiting: the job is delayed, start in ") })
    }
  }
}

/// What commands do in a pipe, and in a locale that knows ASCII alone.
@Suite(.timeLimit(.minutes(20))) struct PipelineTests {
  private func shell(_ script: String, in cluster: Cluster) throws -> ProgramResult {
    let path = try Programs.path(of: "imgctl")
    let run = try ProgramRun(
      "/bin/bash", ["-c", "imgctl() { '\(path)' \"$@\"; }\n\(script)"],
      environment: cluster.environment.merging(["LC_ALL": "C"]) { $1 }, in: cluster.directory)
    return try run.wait()
  }

  @Test func `a command whose reader has left ends quietly`() throws {
    let cluster = try Cluster()
    let job = try cluster.run((1...20_000).map { "data:,\($0)" }).job
    let result = try shell(
      "imgctl failures \(job) | head -n 1; echo ${PIPESTATUS[0]}", in: cluster)
    #expect(result.lines.count == 2 && result.lines.last == "0", "\(result.lines)")
    #expect(result.messages.isEmpty, "\(result.messages)")
  }

  @Test func `a path with umlauts is read in the locale C`() throws {
    let cluster = try Cluster()
    let picture = "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"
    let result = try shell(
      """
      cd "$HOME" && mkdir Bücher && echo "\(picture)" > Bücher/Äpfel.svg &&
      imgctl submit Bücher --recursive --wait && imgctl export 1 Körbe &&
      imgctl get Bücher/Äpfel.svg -o Öl.png && ls Körbe *.png
      """, in: cluster)
    #expect(result.exitCode == 0, "\(result.messages)")
    #expect(result.lines.contains { $0.hasPrefix("Äpfel") }, "\(result.lines)")
    #expect(result.lines.contains("Öl.png"), "\(result.lines)")
  }
}

/// A terminal (pty(7)) that a program has for its standard streams.
private struct PseudoTerminal: ~Copyable {
  private let ours: OwnedDescriptor
  private let theirs: OwnedDescriptor
  private let kind: String

  /// Of linux/tty.h: unlocks the other end, and opens it.
  private static let unlock: UInt = 0x4004_5431
  private static let open: UInt = 0x5441

  /// - Parameter kind: for the variable `TERM`.
  init(columns: UInt16 = 80, kind: String = "xterm") throws {
    let ours = OwnedDescriptor(
      adopting: try Self.check(unsafe Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)))
    var locked: CInt = 0
    _ = try Self.check(unsafe ioctl(ours.rawValue, Self.unlock, &locked))
    let theirs = OwnedDescriptor(
      adopting: try Self.check(ioctl(ours.rawValue, Self.open, O_RDWR | O_NOCTTY | O_CLOEXEC)))
    var size = winsize(ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = try Self.check(unsafe ioctl(ours.rawValue, UInt(TIOCSWINSZ), &size))
    self.ours = ours
    self.theirs = theirs
    self.kind = kind
  }

  private static func check(_ result: CInt) throws(SystemError) -> CInt {
    guard result >= 0 else { throw SystemError(operation: "pty", code: errno) }
    return result
  }

  /// Runs `imgctl` to its end.
  ///
  /// - Parameter text: what is typed.
  /// - Returns: what the terminal shows, with what was typed.
  consuming func run(
    _ arguments: [String], in cluster: Cluster, typing text: String = ""
  ) throws -> (status: ImgSystem.ExitStatus?, text: String) {
    let streams = (0...2).map { (parent: theirs.rawValue, child: CInt($0)) }
    let child = try ChildProcess.spawn(
      executable: Programs.path(of: "imgctl"), arguments: arguments,
      environment: cluster.environment.merging(["TERM": kind]) { $1 }, descriptors: streams)
    if !text.isEmpty { try FileIO.writeAll(ours.rawValue, Array(text.utf8)) }
    let status = child.waitForExit(until: .now + ProgramRun.patience)
    var shown: [UInt8] = []
    while try UnixSocket.waitReadable(ours.rawValue, until: .now) {
      guard let count = try? FileIO.read(ours.rawValue, into: &shown, upTo: 4_096), count > 0 else {
        break
      }
    }
    return (status, String(decoding: shown, as: UTF8.self))
  }
}
