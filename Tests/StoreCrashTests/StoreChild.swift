import FoundationEssentials
import Glibc
import ImgSystem
import StoreCrashSupport
import TestCluster

/// A child process that uses a store, `imgcrashtest`, connected by its standard streams. It ends
/// with this object.
final class StoreChild {
  private let child: ChildProcess
  private let stream: OwnedDescriptor
  /// Received bytes that were not parsed yet.
  private var received: [UInt8] = []

  /// Much longer than any step, so that only a hanging process times out.
  private static let patience = Duration.seconds(60)

  struct Silence: Error {}
  struct Refusal: Error {
    let reason: String
  }

  init(_ arguments: String...) throws {
    var pair = try UnixSocket.pair()
    stream = pair.takeFirst()
    let theirs = pair.takeSecond()
    child = try ChildProcess.spawn(
      executable: try Programs.path(of: "imgcrashtest"), arguments: arguments,
      environment: ["SWIFT_BACKTRACE": "enable=no"],
      descriptors: [
        (parent: theirs.rawValue, child: STDIN_FILENO),
        (parent: theirs.rawValue, child: STDOUT_FILENO),
      ])
  }

  deinit {
    child.signal(SIGKILL)
    _ = child.waitForExit(until: .now + Self.patience)
  }

  func signal(_ signal: CInt) {
    child.signal(signal)
  }

  /// Kills it.
  ///
  /// - Returns: received bytes that were not parsed yet.
  func kill() throws -> [UInt8] {
    child.signal(SIGKILL)
    guard child.waitForExit(until: .now + Self.patience) == .signalled(SIGKILL) else {
      throw Refusal(reason: "it ended by itself, see its standard error")
    }
    while try receive() {}
    return received
  }

  /// Waits until it has said so many bytes in all.
  func waitForBytes(_ count: Int) throws {
    while received.count < count {
      guard try receive() else { throw Refusal(reason: "it ended, see its standard error") }
    }
  }

  /// How many bytes it has said until now.
  func byteCount() throws -> Int {
    while try UnixSocket.waitReadable(stream.rawValue, until: .now), try receive() {}
    return received.count
  }

  // MARK: - Orders

  func take(_ step: StoreStep) throws -> StepAnswer {
    try order(.step(step))
    return try answer()
  }

  /// Makes it keep a reader's snapshot until it is told something else, or ends.
  func hold(_ number: Int) throws {
    try order(.hold(number))
    _ = try answer()
  }

  func release() throws {
    try send([UInt8(ascii: "\n")])
    _ = try answer()
  }

  private func order(_ order: ChildCommand) throws {
    try send(Array(try JSONEncoder().encode(order)) + [UInt8(ascii: "\n")])
  }

  private func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard try UnixSocket.waitWritable(stream.rawValue, until: .now + Self.patience),
        let count = try UnixSocket.send(stream.rawValue, rest)
      else { throw Silence() }
      rest = rest.dropFirst(count)
    }
  }

  private func answer() throws -> StepAnswer {
    while true {
      if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        let line = Data(received[..<end])
        received.removeSubrange(...end)
        switch try JSONDecoder().decode(ChildReply.self, from: line) {
        case .done(let answer): return answer
        case .failed(let reason): throw Refusal(reason: reason)
        }
      }
      guard try receive() else { throw Refusal(reason: "it ended, see its standard error") }
    }
  }

  /// - Returns: whether anything came; `false` at the end.
  private func receive() throws -> Bool {
    guard try UnixSocket.waitReadable(stream.rawValue, until: .now + Self.patience) else {
      throw Silence()
    }
    return try UnixSocket.receive(stream.rawValue, into: &received, upTo: 1 << 16) != .closed
  }
}
