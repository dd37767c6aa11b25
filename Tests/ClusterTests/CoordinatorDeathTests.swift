import FoundationEssentials
import ImgModel
import ImgSystem
import TestCluster
import TestOrigin
import Testing

/// The end of the coordinator: by accident and on demand.
@Suite(.timeLimit(.minutes(20)))
struct CoordinatorDeathTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster()
    origin = try ListOrigin()
  }

  @Test
  func `after a killed coordinator, the job continues and only URLs in flight are fetched again`()
    throws
  {
    let job = try cluster.submit(origin.pictures(1_000))
    try #require(origin.origin.waitUntil { $0.totals.requests >= 300 })
    let workers = try cluster.readyWorkers()
    #expect(workers.count == 2)
    try cluster.killCoordinator()
    for worker in workers { #expect(try worker.hasEnded()) }

    try cluster.start()
    let status = try cluster.finished(job)
    #expect(status.state == .finished)
    #expect(status.done == 1_000)
    #expect(status.total == 1_000)
    // Two workers with the credits of half of 64 transfers each, and eight for the decoder.
    #expect(origin.origin.totals().requests <= 1_000 + 2 * (32 + 8))
  }

  @Test
  func `SIGTERM finishes running work, refuses requests, and keeps the rest for the next start`()
    throws
  {
    let held = (0..<8).map { "/held/\($0)" }
    for path in held { try origin.hold(path) }
    let running = try cluster.submit(held.map(origin.url))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    let waiting = try cluster.submit(origin.pictures(50))
    let workers = try cluster.readyWorkers()

    let coordinator = try cluster.runningCoordinator()
    coordinator.signal(15)
    try #require(try cluster.waitUntil { $0.state == .draining })
    let refused = try cluster.imgctl("submit", try cluster.list(origin.pictures(1), name: "late"))
    #expect(refused.exitCode == 3)
    #expect(refused.messages == "imgctl: the coordinator is stopping\n")
    for path in held { origin.origin.release(path) }

    #expect(try coordinator.wait().exitCode == 0)
    #expect(!FileManager.default.fileExists(atPath: cluster.socketPath))
    for worker in workers { #expect(try worker.hasEnded()) }
    #expect(origin.origin.totals().requests == held.count)

    try cluster.start()
    #expect(try cluster.status(of: running).done == held.count)
    let status = try cluster.finished(waiting)
    #expect([status.done, status.fromCache] == [50, 0])
    #expect(origin.origin.totals().requests == held.count + 50)
  }

  @Test(arguments: [["wait"], ["watch"], ["watch", "--json"]])
  func `a command that follows a job goes on with the next coordinator`(
    command: [String]
  ) throws {
    try origin.hold("/held")
    let job = try cluster.submit([origin.url("/held"), origin.url("/missing")])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let run = try cluster.begin(command + ["\(job)"])
    try #require(try eventually { try !run.messages().isEmpty || !run.lines().isEmpty })
    try cluster.killCoordinator()
    try cluster.start()
    origin.origin.release("/held")
    let result = try run.wait()
    #expect(result.exitCode == (command == ["wait"] ? 1 : 0))
    if command.last == "--json" {
      let last = try #require(result.lines.last)
      let status = try JSONDecoder().decode(JobStatus.self, from: Data(last.utf8))
      #expect([status.done, status.failed] == [1, 1])
      #expect(status.hasEnded)
    } else {
      #expect(result.messages.contains("job \(job) finished: 1 of 2 done, 1 failed"))
    }
  }

  @Test func `a command that follows a job says that no coordinator comes back`() throws {
    try origin.hold("/held")
    let job = try cluster.submit([origin.url("/held")])
    let run = try cluster.begin(["wait", "\(job)", "--json"])
    try #require(try eventually { try !run.lines().isEmpty })
    try cluster.killCoordinator()
    let result = try run.wait()
    #expect(result.exitCode == 3)
    #expect(result.messages.contains(#""code":"no_coordinator""#))
    #expect(result.messages.contains("imgctl start"))
    try cluster.start()
  }

  @Test func `stop returns when the coordinator has ended, and reports if none runs`() throws {
    let coordinator = try cluster.runningCoordinator()
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try coordinator.wait().exitCode == 0)
    let second = try cluster.imgctl("stop")
    #expect(second.exitCode == 0)
    #expect(second.messages == "no coordinator runs\n")
  }
}
