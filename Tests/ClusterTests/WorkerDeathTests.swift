import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// Workers that die, hang, or never begin.
@Suite(.timeLimit(.minutes(20)))
struct WorkerDeathTests {
  private static let stop: CInt = 19

  @Test func `a job ends with the same counts when workers are killed repeatedly`() throws {
    let cluster = try Cluster()
    let origin = try ListOrigin()
    let list = origin.mixedList(1_000)
    let job = try cluster.submit(list.lines)
    var killCount = 0
    for requestCount in stride(from: 30, to: 900, by: 30) {
      try #require(origin.origin.waitUntil { $0.totals.requests >= requestCount })
      if let worker = try cluster.readyWorkers().randomElement() {
        worker.signal(9)
        killCount += 1
      }
    }
    let status = try cluster.finished(job)
    #expect(killCount > 10)
    try cluster.expect(status, endedAs: list)
    #expect(status.fromCache == 0)
  }

  @Test func `idle workers may be killed any number of times`() throws {
    let cluster = try Cluster(["WORKERS": "1"])
    let origin = try ListOrigin()
    let client = try cluster.client()
    var killed: [Int32] = []
    while killed.count < 20 {
      var next: Int32?
      let isReady = try eventually {
        next = try client.status().workers.first { $0.state == .ready }?.processID
        return next != nil && next != killed.last
      }
      try #require(isReady, "\(killed.count) kills")
      let victim = try #require(next.flatMap(WatchedProcess.init))
      victim.signal(9)
      #expect(try victim.hasEnded())
      killed.append(victim.processID)
    }
    #expect(try cluster.run(origin.pictures(3)).done == 3)
    #expect(try client.status().workers.map(\.deaths) == [20])
  }

  @Test(.tags(.slow)) func `a stopped worker is replaced, and the job finishes`()
    throws
  {
    let cluster = try Cluster()
    let origin = try ListOrigin()
    let list = origin.mixedList(1_000)
    let job = try cluster.submit(list.lines)
    try #require(origin.origin.waitUntil { $0.totals.requests >= 100 })
    let worker = try #require(try cluster.readyWorkers().first)
    worker.signal(Self.stop)
    try cluster.expect(try cluster.finished(job), endedAs: list)
    #expect(try worker.hasEnded())
  }

  /// libcurl reads the file of the authorities for each connection over TLS. Once that is a pipe
  /// without a writer, it does not return.
  @Test(.tags(.slow))
  func `a transfer that hangs workers' loops fails alone`()
    throws
  {
    let places = try TestDirectory()
    let authorityPath = try places.write([], to: "authority.pem")
    let cluster = try Cluster(["CA_FILE": authorityPath])
    try places.remove("authority.pem")
    _ = try NamedPipe(path: authorityPath)
    let origin = try ListOrigin()
    let hostile = "https://127.0.0.1:\(origin.origin.port)/p/0"
    let job = try cluster.submit([hostile] + origin.pictures(20))
    let status = try cluster.finished(job)
    #expect(status.done == 20)
    let failures = try cluster.imgctl("failures", "\(job)").lines
    #expect(failures.count == 1)
    #expect(failures.first?.contains("its loop hung in this transfer") == true, "\(failures)")
  }

  @Test(.tags(.slow))
  func `a coordinator whose workers never start exits, and its job waits`()
    throws
  {
    let origin = try ListOrigin()
    // Side by side, because each takes the seconds that all pauses between starts make.
    let attempts = try ["/bin/false", "/nowhere/imgworker"].map { program in
      let cluster = try Cluster(isStarted: false)
      try cluster.start(["--worker-executable", program])
      let list = try cluster.list(origin.pictures(3))
      return (
        cluster: cluster, program: program, run: try cluster.begin(["submit", "--wait", list])
      )
    }
    for (cluster, program, run) in attempts {
      #expect(try run.wait().exitCode == 3)
      let coordinator = try cluster.runningCoordinator().wait()
      #expect(coordinator.exitCode == 1)
      #expect(coordinator.messages.contains("giving up: no worker can be kept alive"))
      if program != "/bin/false" { #expect(coordinator.messages.contains(program)) }
      try cluster.start()
      #expect(try cluster.finished(JobID(rawValue: 1)).done == 3)
    }
  }

  @Test func `jobs and a killed worker leave no open descriptor`() throws {
    let cluster = try Cluster(Cluster.inspectable)
    let origin = try ListOrigin()
    let processID = try cluster.runningCoordinator().processID
    // The only client at the first count and, once the others are forgotten, at the last.
    let client = try cluster.client()
    func areWorkersReady() throws -> Bool {
      try eventually {
        try client.status().workers.allSatisfy {
          $0.state == .ready && $0.decoderProcessIDs.count == 2
        }
      }
    }
    try #require(try areWorkersReady())
    let before = try #require(openDescriptorCount(of: processID))
    for size in [10, 20] { _ = try cluster.run(origin.pictures(size)) }
    let victim = try #require(try cluster.readyWorkers().first)
    victim.signal(9)
    #expect(try victim.hasEnded())
    _ = try cluster.run(origin.pictures(30))
    try #require(try areWorkersReady())
    #expect(try eventually { openDescriptorCount(of: processID) == before })
    #expect(childProcessIDs(of: processID).count == 2 * 3)
    #expect(try client.status().workers.map(\.deaths).reduce(0, +) == 1)
  }
}
