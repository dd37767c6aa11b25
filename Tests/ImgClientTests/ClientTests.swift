import ImgModel
import ImgWire
import TestFiles
import Testing

@testable import ImgClient

/// A client and a coordinator that answers as a script says.
@Suite(.timeLimit(.minutes(20)))
struct ClientTests {
  private let directory: TestDirectory
  private let path: String

  init() throws {
    directory = try TestDirectory()
    path = directory.file("socket")
  }

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
    #expect(coordinator.requests().isEmpty)
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
        RequestRefusal(
          id: RequestRefusal.wholeConnection, code: .unavailable, message: "no more clients")))
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
      guard case .job(let request) = request else { return [nil] }
      let late = RequestID(rawValue: request.id.rawValue + 40)
      return [
        .job(JobReply(id: late, status: .sample(9))),
        .job(JobReply(id: request.id, status: .sample(request.job.rawValue))),
      ]
    }
    do {
      let client = try Client(socketPath: path)
      #expect(try client.status(of: JobID(rawValue: 3)).job == JobID(rawValue: 3))
      #expect(try client.status(of: JobID(rawValue: 4)).job == JobID(rawValue: 4))
    }
    #expect(coordinator.requests().count == 2)
  }

  @Test func `a refusal of the request, or of the connection, ends the call`() throws {
    for id in [RequestID(rawValue: 1), RequestRefusal.wholeConnection] {
      let place = directory.file("socket-\(id.rawValue)")
      let coordinator = try ScriptedCoordinator(socketPath: place) { _ in
        [.refused(RequestRefusal(id: id, code: .stopping, message: "it is stopping")), nil]
      }
      do {
        let client = try Client(socketPath: place)
        let error = #expect(throws: ClientError.self) { try client.sweep() }
        #expect(error?.description == "it is stopping")
      }
      #expect(coordinator.requests() == [.sweep(PlainRequest(id: RequestID(rawValue: 1)))])
    }
  }

  @Test func `a reply of another kind is an error of the connection`() throws {
    let coordinator = try ScriptedCoordinator(socketPath: path) { request in
      [.sweeping(PlainRequest(id: RequestID(rawValue: 1)))]
    }
    do {
      let client = try Client(socketPath: path)
      let error = #expect(throws: ClientError.self) { try client.status() }
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
        var parts = [["http://h/1"], ["http://h/2"]]
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

  private func failToRead() throws -> [String]? { throw UnreadableList() }

  @Test func `a watch ends with the job, or when the caller has seen enough`() throws {
    for isStopped in [false, true] {
      let place = directory.file("socket-\(isStopped)")
      let coordinator = try ScriptedCoordinator(socketPath: place) { request in
        guard case .job(let request) = request else { return [nil] }
        let states: [JobRecord.State] = [.queued, .paused, .finished]
        return states.map { .job(JobReply(id: request.id, status: .sample(1, $0))) }
      }
      do {
        let client = try Client(socketPath: place)
        var seen: [JobStatus.State] = []
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
      case .jobs(let request):
        let first = request.before == nil
        return [
          .jobs(
            JobsPage(
              id: request.id, jobs: first ? [.sample(3), .sample(2)] : [.sample(1)],
              hasMore: first))
        ]
      case .results(let request):
        let entry = LineResult(index: request.from, url: "u", outcome: .cancelled)
        return [
          .results(
            ResultsPage(id: request.id, entries: [entry], next: request.from == 0 ? 5 : nil))
        ]
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
