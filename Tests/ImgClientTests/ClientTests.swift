import FoundationEssentials
import Glibc
import ImgModel
import ImgSettings
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import Testing

@testable import ImgClient

/// A client and a coordinator that answers as a script says.
@Suite(.timeLimit(.minutes(20)))
struct ClientTests {
  private let directory = TestDirectory()
  private var path: String { directory.file("socket") }

  /// The error of a first request to a coordinator that says this first.
  private func error(
    hello: CoordinatorReply?, _ request: (Client) throws(ClientError) -> Void = { _ in }
  ) throws -> ClientError? {
    let coordinator = try ScriptedCoordinator(socketPath: path, hello: hello)
    defer { _ = coordinator.requests() }
    do throws(ClientError) {
      try request(try Client(socketPath: path))
    } catch {
      return error
    }
    return nil
  }

  @Test func `the hello names the coordinator's process and its store`() throws {
    let coordinator = try ScriptedCoordinator(socketPath: path)
    do {
      let client = try Client(socketPath: path)
      #expect(client.coordinatorProcessID == 7)
      try client.requireStore(in: "/data/store/thumbnails")
      let error = #expect(throws: ClientError.self) { try client.requireStore(in: "/mine") }
      #expect(error?.description.contains("keeps /data/store/thumbnails, not /mine") == true)
    }
    #expect(coordinator.requests().count == 1, "one of another store is asked for its places")
  }

  @Test func `a coordinator of another protocol is named with its version`() throws {
    let hello = Hello(protocolVersion: 1, version: "0.0.1", processID: 9, storeDirectory: "/s")
    let error = try error(hello: .hello(hello))
    guard case .otherVersion = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.description.contains("imgctl 0.0.1 (protocol 1)") == true)
  }

  @Test func `a refusal in place of a hello is thrown with its reason`() throws {
    let error = try error(
      hello: .refused(
        .wholeConnection, .unavailable, message: "no more clients"))
    guard case .refused(.unavailable, "no more clients") = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a coordinator that closes at once counts as unreachable`() throws {
    let error = try error(hello: nil)
    guard case .unreachable(path, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `replies to requests that were abandoned are skipped`() throws {
    let coordinator = try ScriptedCoordinator(socketPath: path) { request in
      guard case .job(let id, let job, _) = request else { return [nil] }
      let late = RequestID(rawValue: id.rawValue + 40)
      return [
        .job(late, .sample(9)),
        .job(id, .sample(job.rawValue)),
      ]
    }
    do {
      let client = try Client(socketPath: path)
      #expect(try client.answer(.job(JobID(rawValue: 3))).job == JobID(rawValue: 3))
      #expect(try client.answer(.job(JobID(rawValue: 4))).job == JobID(rawValue: 4))
    }
    #expect(coordinator.requests().count == 2)
  }

  @Test func `a refusal of the request, or of the connection, ends the call`() throws {
    for id in [RequestID(rawValue: 1), RequestID.wholeConnection] {
      let place = directory.file("socket-\(id.rawValue)")
      let coordinator = try ScriptedCoordinator(socketPath: place) { _ in
        [.refused(id, .stopping, message: "it is stopping"), nil]
      }
      do {
        let client = try Client(socketPath: place)
        let error = #expect(throws: ClientError.self) { try client.answer(.sweep) }
        #expect(error?.description == "it is stopping")
      }
      #expect(coordinator.requests() == [.sweep(RequestID(rawValue: 1))])
    }
  }

  @Test func `a reply of another kind is an error of the connection`() throws {
    let coordinator = try ScriptedCoordinator(socketPath: path) { request in
      [.sweeping(RequestID(rawValue: 1))]
    }
    do {
      let client = try Client(socketPath: path)
      let error = #expect(throws: ClientError.self) { try client.answer(.status) }
      #expect(error?.description.contains("an answer to another question") == true)
    }
    _ = coordinator.requests()
  }

  @Test func `a connection that ends tells whether the whole list was sent`() throws {
    for isComplete in [false, true] {
      let place = directory.file("socket-\(isComplete)")
      let coordinator = try ScriptedCoordinator(socketPath: place) { request in
        if case .submitEnd = request { return [nil] }
        return []
      }
      do {
        let client = try Client(socketPath: place)
        var parts: [ListLines] = [["http://h/1"], ["http://h/2"]]
        #expect {
          try client.submit(name: "list", options: RequestOptions(variant: .standard)) {
            if parts.isEmpty { return isComplete ? nil : try self.failToRead() }
            return parts.removeFirst()
          }
        } throws: { error in
          guard case ClientError.submission(let wasComplete, _) = error else {
            return !isComplete && error is UnreadableList
          }
          return wasComplete == isComplete
        }
      }
      #expect(coordinator.requests().count == (isComplete ? 4 : 3))
    }
  }

  private struct UnreadableList: Error {}

  private func failToRead() throws -> ListLines? { throw UnreadableList() }

  @Test func `a watch ends with the job, or when the caller has seen enough`() throws {
    for isStopped in [false, true] {
      let place = directory.file("socket-\(isStopped)")
      let coordinator = try ScriptedCoordinator(socketPath: place) { request in
        guard case .job(let id, _, _) = request else { return [nil] }
        let states: [JobRecord.State] = [.queued, .paused, .finished]
        return states.map { .job(id, .sample(1, $0)) }
      }
      do {
        let client = try Client(socketPath: place)
        var seen: [ImageJob.State] = []
        let last = try client.watch(JobID(rawValue: 1), every: .seconds(60)) { status in
          seen.append(status.state)
          return !(isStopped && status.state == .paused)
        }
        #expect(seen.count == (isStopped ? 2 : 3))
        #expect(last.state == seen.last)
      }
      _ = coordinator.requests()
    }
  }

  @Test func `jobs and results are read page by page`() throws {
    let coordinator = try ScriptedCoordinator(socketPath: path) { request in
      switch request {
      case .jobs(let id, let request):
        let first = request.before == nil
        return [
          .jobs(
            id, JobsPage(jobs: first ? [.sample(3), .sample(2)] : [.sample(1)], hasMore: first))
        ]
      case .results(let id, let request):
        let entry = LineResult(index: request.from, ListLine("u"), .cancelled)
        return [.results(id, ResultsPage(entries: [entry], next: request.from == 0 ? 5 : nil))]
      default: return [nil]
      }
    }
    do {
      let client = try Client(socketPath: path)
      var jobs: [UInt64] = []
      try client.forEachJob { jobs.append($0.job.rawValue) }
      #expect(jobs == [3, 2, 1])
      var lines: [Int] = []
      try client.results(of: JobID(rawValue: 1), isFailedOnly: false) { lines.append($0.index) }
      #expect(lines == [0, 5])
    }
    #expect(coordinator.requests().count == 4)
  }
}

@Suite(.timeLimit(.minutes(20)))
struct CoordinatorLauncherTests {
  private let directory = TestDirectory()

  /// A launcher of a shell script in place of a coordinator.
  private func launcher(script: String, data: String? = nil) throws -> CoordinatorLauncher {
    let source = try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "source")
    try Programs.install(source, as: directory.file("program"))
    let settings = Settings(
      socketPath: directory.file("socket"), dataDirectory: data ?? directory.file("data"))
    return CoordinatorLauncher(executable: directory.file("program"), places: settings) {
      () throws(ClientError) in settings
    }
  }

  private var logPath: String { directory.file("data/coordinator.log") }

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
      let (client, started) = try launcher(script: "exit 1").connect()
      #expect(started == nil)
      #expect(client.coordinatorProcessID == 7)
    }
    _ = coordinator.requests()
    #expect(!FileManager.default.fileExists(atPath: logPath))
  }

  @Test func `the reason of a coordinator that cannot start is passed on`() throws {
    let reason = failure(of: try launcher(script: "printf 'no room' >&3"))
    #expect(reason == "the coordinator did not start: no room")
  }

  @Test func `a coordinator that ends without a word is looked up in its log`() throws {
    let reason = failure(of: try launcher(script: "echo cause >&2"))
    #expect(
      reason == "the coordinator did not start: it ended before it was ready; see "
        + logPath)
    let log = try Data(contentsOf: URL(filePath: logPath))
    #expect(String(decoding: log, as: UTF8.self) == "cause\n")
  }

  @Test func `a data directory that cannot be made is the reason, and no process is started`()
    throws
  {
    let reason = failure(
      of: try launcher(script: "printf 'no room' >&3", data: "/dev/null/data"))
    #expect(reason?.contains("the data directory /dev/null/data cannot be used") == true)
    #expect(!FileManager.default.fileExists(atPath: logPath))
  }
}

/// The place and the listener are checked before a byte is sent.
@Suite struct CoordinatorSocketTests {
  private let directory = TestDirectory()

  private func error(at path: String) -> ClientError? {
    do throws(ClientError) {
      _ = try CoordinatorSocket.connect(path: path)
    } catch {
      return error
    }
    return nil
  }

  @Test func `a listener of this user in a directory of this user is trusted`() throws {
    let path = directory.file("socket")
    let listener = try UnixListener(path: path)
    #expect(error(at: path) == nil)
    #expect(try listener.accept() != nil)
  }

  @Test(arguments: ["socket", "missing/socket"])
  func `without a listener the coordinator is unreachable`(name: String) {
    guard case .unreachable(directory.file(name), _) = error(at: directory.file(name)) else {
      Issue.record("the place has no listener")
      return
    }
  }

  @Test func `a directory that others may write is refused before the client connects`() throws {
    let open = directory.file("open")
    try Directory.create(open)
    #expect(unsafe chmod(open, 0o777) == 0)
    let listener = try UnixListener(path: open + "/socket")
    guard case .untrusted = error(at: open + "/socket") else {
      Issue.record("other users may replace the socket")
      return
    }
    let connection = try listener.accept()
    let isConnected = connection != nil
    #expect(!isConnected)
  }
}
