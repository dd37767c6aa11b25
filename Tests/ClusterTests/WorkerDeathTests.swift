import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import SeededRandom
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
        next = try client.answer(.status).workers.first { $0.state == .ready }?.processID
        return next != nil && next != killed.last
      }
      try #require(isReady, "\(killed.count) kills")
      let victim = try #require(next.flatMap(WatchedProcess.init))
      victim.signal(9)
      #expect(try victim.hasEnded())
      killed.append(victim.processID)
    }
    #expect(try cluster.run(origin.pictures(3)).done == 3)
    #expect(try client.answer(.status).workers.map(\.deaths) == [20])
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
        try client.answer(.status).workers.allSatisfy {
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
    #expect(try client.answer(.status).workers.map(\.deaths).reduce(0, +) == 1)
  }
}

/// Decoders that are killed, stopped, or never begin: what that costs pictures, and what not.
@Suite(.timeLimit(.minutes(20)))
struct DecoderDeathTests {
  private static let stop: CInt = 19
  private static let kill: CInt = 9
  /// How many lines of a list are decoded while decoders are killed. More by hand.
  private static let lineCount =
    ProcessInfo.processInfo.environment["IMGCTL_TEST_LINES"].flatMap { Int($0) } ?? 300
  /// How long after a kill the next one comes.
  private static let killInterval = Duration.milliseconds(50)

  /// The decoders that run at this moment.
  private func decoders(of client: Client) throws -> [WatchedProcess] {
    try client.answer(.status).workers.flatMap(\.decoderProcessIDs).compactMap(WatchedProcess.init)
  }

  /// Whether each worker has a decoder and a spare one.
  private func areDecodersComplete(of client: Client) throws -> Bool {
    try eventually {
      try client.answer(.status).workers.allSatisfy {
        $0.state == .ready && $0.decoderProcessIDs.count == 2
      }
    }
  }

  @Test func `decoders killed at random cost no picture its outcome, and no URL a second fetch`()
    throws
  {
    let cluster = try Cluster(Cluster.inspectable)
    let origin = try ListOrigin()
    let coordinator = try cluster.runningCoordinator().processID
    // The only client at the first count and, once the others are forgotten, at the last.
    let client = try cluster.client()
    try #require(try areDecodersComplete(of: client))
    let before = try #require(openDescriptorCount(of: coordinator))
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    let list = origin.mixedList(Self.lineCount)
    let job = try cluster.submit(list.lines)
    var killCount = 0
    let began = ContinuousClock.now
    while try cluster.status(of: job).state == .running {
      // Most of those that start are spared, so that some decode however slow the machine is.
      if let decoder = try decoders(of: client).randomElement(using: &generator),
        filterCount(of: decoder.processID) == 2
          || Int.random(in: 0..<8, using: &generator) == 0
      {
        decoder.signal(Self.kill)
        killCount += 1
      }
      ThisProcess.pause(for: Self.killInterval)
    }
    let time = ContinuousClock.now - began
    try cluster.expect(try cluster.finished(job), endedAs: list)
    let snapshot = origin.origin.snapshot
    #expect(snapshot.paths.values.allSatisfy { $0.requests == 1 }, "seed \(seed)")
    #expect(snapshot.totals.requests == list.lines.count)
    #expect(try areDecodersComplete(of: client))
    #expect(try eventually { openDescriptorCount(of: coordinator) == before })
    #expect(childProcessIDs(of: coordinator).count == 6)
    let status = try client.answer(.status)
    #expect(status.workers.map(\.deaths) == [0, 0])
    let deaths = status.workers.map(\.decoderDeaths).reduce(0, +)
    #expect(deaths > 0)
    print(
      "decoder chaos, seed \(seed): \(killCount) kills, \(deaths) deaths in \(time) while "
        + "\(list.lines.count) URLs took \(snapshot.totals.requests) requests")
  }

  @Test(.tags(.slow))
  func `pictures whose decoders hang are made by others, while transfers go on`()
    throws
  {
    let cluster = try Cluster(["WORKERS": "1", "DECODE_TIMEOUT": "5s"])
    let origin = try ListOrigin()
    let client = try cluster.client()
    try #require(try areDecodersComplete(of: client))
    let stopped = try decoders(of: client)
    // One that is stopped while it starts is no picture's. After its lock a decoder sleeps only when
    // it has said that it is ready.
    try #require(
      try eventually {
        stopped.allSatisfy { filterCount(of: $0.processID) == 2 && isAsleep($0.processID) }
      })
    for decoder in stopped { decoder.signal(Self.stop) }
    let list = origin.pictures(6)
    let job = try cluster.submit(list)
    #expect(origin.origin.waitUntil { $0.totals.requests == list.count && $0.totals.inFlight == 0 })
    #expect(try cluster.status(of: job).done == 0)
    let status = try cluster.finished(job)
    #expect(status.done == list.count)
    for decoder in stopped { #expect(try decoder.hasEnded()) }
    #expect(origin.origin.totals().requests == list.count)
    #expect(try client.answer(.status).workers.map(\.deaths) == [0])
  }

  @Test func `decoders end with their worker, and with the coordinator`() throws {
    let cluster = try Cluster(["WORKERS": "1"])
    let client = try cluster.client()
    try #require(try areDecodersComplete(of: client))
    let first = try decoders(of: client)
    let worker = try #require(try cluster.readyWorkers().first)
    worker.signal(Self.kill)
    for decoder in first { #expect(try decoder.hasEnded()) }
    try #require(try areDecodersComplete(of: client))
    let second = try decoders(of: client)
    try cluster.killCoordinator()
    for decoder in second { #expect(try decoder.hasEnded()) }
  }

  @Test func `decoders end with a coordinator that is stopped`() throws {
    let cluster = try Cluster(["WORKERS": "1"])
    let client = try cluster.client()
    try #require(try areDecodersComplete(of: client))
    let all = try decoders(of: client)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    #expect(try cluster.runningCoordinator().wait().exitCode == 0)
    for decoder in all { #expect(try decoder.hasEnded()) }
    let messages = try cluster.runningCoordinator().messages()
    #expect(!messages.contains("decoder") && !messages.contains("is ended"), "\(messages)")
  }
}

/// Pictures over which decoders die: which code they end with, and what the log says.
@Suite(.timeLimit(.minutes(20)))
struct DecodeDeathTests {
  /// A GIF of 100 megapixels, whose loader allocates 4 bytes for each before it reads one. GLib
  /// ends the process when an allocation of its own is refused.
  private static let largeCanvas: [UInt8] = {
    let side: [UInt8] = [0x10, 0x27]
    let screen = Array("GIF89a".utf8) + side + side + [0x80, 0, 0] + [0, 0, 0, 255, 255, 255]
    let frame = [0x2C, 0, 0, 0, 0] + side + side + [0, 2, 2, 0x44, 1, 0, 0x3B]
    return screen + frame
  }()

  /// What the log says of the ends of decoders. All of the log's lines are the programs' own.
  private func ends(in cluster: Cluster) throws -> [String] {
    let lines = try cluster.runningCoordinator().messages().split(separator: "\n").map(String.init)
    for line in lines {
      let programs = ["imgcoordinator:", "imgworker:"]
      let words = line.split(separator: " ")
      #expect(programs.contains { words.dropFirst().first == $0[...] }, "\(line)")
    }
    return lines.filter { $0.contains("was killed by signal") }
  }

  @Test func `a picture that needs more than a decoder's memory ends as out_of_memory`() throws {
    let cluster = try Cluster(["DECODER_MEMORY": "256M"])
    let origin = try ListOrigin()
    origin.origin.serve("/large.gif", .body(Self.largeCanvas))
    let url = "\(origin.origin.baseURL)/large.gif"
    let job = try cluster.submit(origin.pictures(3) + [url])
    let status = try cluster.finished(job)
    #expect(status.done == 3)
    #expect(try cluster.failures(of: job) == [url: "out_of_memory"])
    #expect(try cluster.imgctl("failures", "\(job)").output.contains("256M"))
    // The second end follows the first too closely for a line of its own.
    let end = try #require(try ends(in: cluster).first)
    #expect(end.contains(#/worker \d's decoder \(process \d+\) was killed by signal /#))
    // What GLib said before it ended the process.
    #expect(end.contains("failed to allocate"))
    let workers = try cluster.client().answer(.status).workers
    #expect(workers.map(\.deaths) == [0, 0])
    #expect(workers.map(\.decoderDeaths).reduce(0, +) == 2)
    #expect(origin.origin.counters("/large.gif").requests == 1)
  }
}
