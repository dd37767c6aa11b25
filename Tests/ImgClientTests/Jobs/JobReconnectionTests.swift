import FoundationEssentials
import ImgModel
import ImgSystem
import ImgWire
import Synchronization
import TestCluster
import TestFiles
import Testing

@testable import ImgClient

/// Jobs of coordinators that end, and of one that answers as a test says.
@Suite(.timeLimit(.minutes(20)))
struct JobReconnectionTests {
  private func client(_ directory: TestDirectory) throws -> ImageClient {
    try ImageClient(
      ClusterConfiguration(
        socketPath: directory.file("socket"), dataDirectory: "/data", startsCoordinator: false))
  }

  @Test func `a watch goes on however often the coordinator is killed and started again`()
    async throws
  {
    let backend = try RealBackend()
    try backend.serveInParts("a")
    let jobs = try backend.makeClient().jobs
    let id = try await jobs.submit([backend.url("a")])
    let updates = Mutex<[ImageJob]>([])
    let watch = Task {
      for try await job in jobs.updates(of: id) { updates.withLock { $0.append(job) } }
    }
    // More often than a call without any answer is sent.
    for round in 1...CallTable.maximumSendCount + 2 {
      #expect(try await eventually { backend.fetchCount(of: "a") == round })
      let count = updates.withLock { $0.count }
      #expect(
        try await eventually {
          updates.withLock { $0.count > count || $0.last?.state == .running }
        })
      unsafe try backend.cluster.killCoordinator()
      unsafe try backend.cluster.start()
    }
    for step in 0..<RealBackend.stepCount { backend.release("a", step: step) }
    try await watch.value
    let ends = updates.withLock { $0.filter(\.hasEnded) }
    #expect(ends.map(\.done) == [1])
  }

  @Test func `a watch fails if the coordinator does not come back`() async throws {
    let backend = try RealBackend()
    let jobs = try backend.makeClient().jobs
    let id = try await jobs.submit([backend.url("a")], as: .delayed)
    let (firsts, first) = AsyncStream.makeStream(of: Void.self)
    let watch = Task {
      for try await _ in jobs.updates(of: id) { first.yield() }
    }
    for await _ in firsts { break }
    unsafe try backend.cluster.killCoordinator()
    let error = await #expect(throws: ImageError.self) { try await watch.value }
    #expect(error?.code == .unreachable)
    #expect(error?.message.contains("imgctl start") == true)
  }

  @Test func `a change whose connection is lost is not sent again`() async throws {
    let directory = try TestDirectory()
    let coordinator = try ScriptedCoordinator(
      socketPath: directory.file("socket"),
      hello: .hello(Hello(processID: 7, storeDirectory: "/data/store/thumbnails")))
    let jobs = try client(directory).jobs
    let error = await #expect(throws: ImageError.self) { try await jobs.cancel(7) }
    #expect(error?.code == .disconnected)
    #expect(error?.message.contains("whether job 7 was changed is not known") == true)
    #expect(coordinator.requests().count == 1)
  }

  @Test(arguments: [false, true])
  func `a list whose connection is lost is not sent again, and may be retried if it was not whole`(
    isComplete: Bool
  ) async throws {
    let directory = try TestDirectory()
    let coordinator = try ScriptedCoordinator(
      socketPath: directory.file("socket"),
      hello: .hello(Hello(processID: 7, storeDirectory: "/data/store/thumbnails"))
    ) { request in
      switch request {
      case .submitLines where !isComplete: [nil]
      case .submitEnd: [nil]
      default: []
      }
    }
    let jobs = try client(directory).jobs
    // More than a socket holds unread.
    let urls = (0..<100_000).map { "https://example.org/\($0)" }
    let error = await #expect(throws: ImageError.self) { try await jobs.submit(urls) }
    #expect(error?.code == .disconnected)
    #expect(error?.isRetryable == !isComplete)
    let message = isComplete ? "whether it accepted the list is not known" : "was not accepted"
    #expect(error?.message.contains(message) == true)
    let submissions = coordinator.requests().count { if case .submit = $0 { true } else { false } }
    #expect(submissions == 1)
  }

  @Test func `a list that is made slowly does not delay loads`() async throws {
    let backend = try RealBackend()
    try backend.serve("a")
    let client = try backend.makeClient()
    let url = backend.url("a")
    let gate = try BlockingQueue<Void>(capacity: 1)
    let list = NumberedURLs(count: 2_000) { number in
      // Holds the thread of the submission.
      if number == 1_500 { _ = gate.take(upTo: 1) }
    }
    let submission = Task { try await client.jobs.submit(list, as: .delayed) }
    let image = try await client.image(for: url, size: 64)
    #expect(image.width == 64)
    gate.close()
    let id = try await submission.value
    #expect(try await client.jobs.job(id).total == 2_000)
  }

  @Test func `a job encodes as imgctl prints it, without the values of headers`() async throws {
    let backend = try RealBackend()
    let jobs = try backend.makeClient().jobs
    var request = ImageJobRequest.delayed
    request.headers = [.init("Authorization", "secret")]
    request.name = "list"
    let id = try await jobs.submit([backend.url("a")], as: request)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // The coordinator says after two seconds what a job waits for, and then whenever it is asked.
    var json = ""
    let end = ContinuousClock.now + .seconds(240)
    while !json.contains(#""wait":"#) {
      try #require(ContinuousClock.now < end)
      json = String(decoding: try encoder.encode(try await jobs.job(id)), as: UTF8.self)
    }
    let printed = unsafe try backend.cluster.imgctl("status", "\(id)", "--json").output
    #expect(printed.replacing(#""schema":1,"#, with: "") == json + "\n")
    #expect(json.contains(#"{"name":"authorization"}"#))
  }
}
