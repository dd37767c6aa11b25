import ImgClient
import ImgModel
import TestCluster
import TestOrigin
import Testing

/// People who change their minds.
@Suite(.timeLimit(.minutes(20)))
struct CancelTests {
  private let cluster: Cluster
  private let origin: ListOrigin
  private let held = (0..<8).map { "/held/\($0)" }

  private static let interrupt: CInt = 2

  init() throws {
    cluster = try Cluster.inOrder()
    origin = try ListOrigin()
    for path in held { try origin.hold(path) }
  }

  @Test func `cancel aborts transfers and drops waiting lines, and the counts add up`() throws {
    let job = try cluster.submit(held.map(origin.url) + origin.pictures(500))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    #expect(try cluster.imgctl("cancel", "\(job)").exitCode == 0)
    #expect(origin.origin.waitUntil { $0.totals.aborted == held.count })

    let status = try cluster.status(of: job)
    #expect(status.state == .cancelled)
    #expect(status.total == held.count + 500)
    #expect(status.cancelled == held.count + 500)
    #expect([status.done, status.failed, status.queued, status.running] == [0, 0, 0, 0])
    #expect(try cluster.imgctl("wait", "\(job)").exitCode == 1)

    let again = try cluster.imgctl("cancel", "\(job)")
    #expect(again.exitCode == 2)
    #expect(again.messages == "imgctl: job 1 is cancelled; nothing is left to cancel\n")
    // The places of what was aborted are free again.
    #expect(try cluster.run(origin.pictures(20)).done == 20)
  }

  @Test func `cancel prints the final counts`() throws {
    for path in held { origin.origin.release(path) }
    let slow = try ListOrigin(headerDelay: .milliseconds(20))
    let job = try cluster.submit(slow.pictures(500))
    try #require(slow.origin.waitUntil { $0.totals.requests >= 50 })
    let final = try cluster.client().change(job, .cancel)
    #expect(final.state == .cancelled)
    #expect(final.finished == 500)
    #expect(final.cancelled > 0)
    #expect(try cluster.status(of: job) == final)
  }

  @Test func `a URL of two jobs continues when one is cancelled`() throws {
    let first = try cluster.submit([origin.url(held[0])])
    let second = try cluster.submit([origin.url(held[0])])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    try #require(try cluster.waitUntil { _ in try cluster.status(of: second).running == 1 })
    #expect(try cluster.imgctl("cancel", "\(first)").exitCode == 0)
    origin.origin.release(held[0])
    #expect(try cluster.finished(second).done == 1)
    #expect(origin.origin.counters(held[0]).requests == 1)
  }

  @Test func `Ctrl-C ends the display of a job, not the job`() throws {
    let list = try cluster.list(held.map(origin.url) + origin.pictures(20))
    let run = try cluster.begin(["submit", "--wait", list])
    // It shows the job from the moment on in which it hears Ctrl-C itself.
    try #require(try eventually { try !run.messages().isEmpty })
    run.signal(Self.interrupt)
    let result = try run.wait()
    #expect(result.exitCode == 130)
    #expect(result.output == "1\n")
    #expect(result.messages.hasSuffix("job 1 continues; to follow it again: imgctl wait 1\n"))
    for path in held { origin.origin.release(path) }
    #expect(try cluster.finished(JobID(rawValue: 1)).done == held.count + 20)
  }

  @Test func `a client that disconnects cancels its request`() throws {
    let run = try cluster.begin(["get", origin.url(held[0])])
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    run.signal(9)
    #expect(origin.origin.waitUntil { $0.totals.aborted == 1 })
    #expect(try cluster.waitUntil { $0.viewers == 0 && $0.transfers == 0 })
  }
}
