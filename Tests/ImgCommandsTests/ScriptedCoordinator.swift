import FoundationEssentials
import ImgClient
import ImgCommands
import ImgModel
import ImgSettings
import ImgSystem
import ImgWire
import Synchronization
import TestCluster
import TestFiles
import Testing

/// A coordinator that answers one command as a test says, in a directory of its own.
final class ScriptedCoordinator: Sendable {
  /// How a command ended, and what it wrote.
  struct Result: Sendable {
    /// `nil` where it threw.
    var exitCode: ExitCode?
    var error: String?
    var output = ""
    var messages = ""
    /// What the coordinator was sent after the hello.
    var requests: [ClientMessage] = []
    /// Whether the command offered to read local files.
    var readsFiles = false

    /// The lines of the output, each a JSON object.
    func decodedLines<Value: Decodable>(_ type: Value.Type) throws -> [Value] {
      try output.split(separator: "\n").map {
        try JSONDecoder().decode(type, from: Data($0.utf8))
      }
    }
  }

  /// What the command's thread leaves.
  private final class Ending: Sendable {
    private let result = Mutex(Result())

    func set(_ result: Result) { self.result.withLock { $0 = result } }

    func get() -> Result { result.withLock { $0 } }
  }

  private let testDirectory = TestDirectory()

  var directory: String { testDirectory.path }

  /// Runs a command against this coordinator. Neither blocks a thread of the tasks, which the library needs.
  ///
  /// - Parameters:
  ///   - environment: of the command.
  ///   - proxies: those of the coordinator's workers.
  ///   - replies: to a request; the connection closes after them where `nil` ends them.
  func run(
    _ commandLine: [String], environment: [String: String] = [:], proxies: ProxySettings? = nil,
    replies: @escaping @Sendable (ClientMessage) -> [CoordinatorReply?]
  ) async throws -> Result {
    let (results, result) = AsyncThrowingStream.makeStream(of: Result.self)
    let thread = try ServiceThread<Never>(name: "coordinator", capacity: 1) { [self] _ in
      do {
        result.yield(
          try runBlocking(commandLine, environment, proxies, replies))
        result.finish()
      } catch {
        result.finish(throwing: error)
      }
    }
    defer { thread.join() }
    var iterator = results.makeAsyncIterator()
    return try #require(try await iterator.next())
  }

  private func runBlocking(
    _ commandLine: [String], _ environment: [String: String], _ proxies: ProxySettings?,
    _ replies: (ClientMessage) -> [CoordinatorReply?]
  ) throws -> Result {
    let listener = try ScriptedListener(socketPath: directory + "/socket")
    let ending = Ending()
    let thread = try ServiceThread<Never>(name: "command", capacity: 1) { [directory] _ in
      ending.set(Self.ending(of: commandLine, environment, in: directory))
    }
    defer { thread.join() }
    let hello = Hello(
      processID: 1, storeDirectory: directory + "/store/thumbnails", proxies: proxies)
    let requests = try listener.serve(hello: .hello(hello)) { request in
      // No job has local files.
      if case .readFiles(let id, _) = request { [.filesRead(id)] } else { replies(request) }
    }
    thread.join()
    var result = ending.get()
    result.requests = requests.filter { if case .readFiles = $0 { false } else { true } }
    result.readsFiles = result.requests.count < requests.count
    result.output = try String(contentsOfFile: directory + "/output", encoding: .utf8)
    result.messages = try String(contentsOfFile: directory + "/messages", encoding: .utf8)
    return result
  }

  private static func ending(
    of commandLine: [String], _ environment: [String: String], in directory: String
  ) -> Result {
    do {
      return Result(exitCode: try exitCode(of: commandLine, environment, in: directory))
    } catch {
      return Result(error: (error as? ImageError)?.message ?? "\(error)")
    }
  }

  private static func exitCode(
    of commandLine: [String], _ environment: [String: String], in directory: String
  ) throws -> ExitCode {
    let places = ["--socket", directory + "/socket", "--data-dir", directory]
    let invocation = try Invocation(
      arguments: commandLine + places, environment: environment, userID: 1)
    guard case .run(let command, let settings, let isQuiet) = invocation else {
      throw UsageError("the command line prints")
    }
    let outputFile = try FileIO.create(directory + "/output")
    let messagesFile = try FileIO.create(directory + "/messages")
    let output = Output(descriptor: outputFile.rawValue)
    let messages = Output(descriptor: messagesFile.rawValue, capacity: 0)
    let exitCode = try command.run(
      in: CommandContext(
        settings: settings, output: output, messages: messages, isQuiet: isQuiet,
        isJSON: OptionDescription.isJSONWanted(in: commandLine),
        places: TypedPlaces(in: commandLine)))
    try output.flush()
    return exitCode
  }
}

extension ImageJob {
  /// A job of twenty lines as it may be seen.
  static func sample(_ number: UInt64, _ state: JobRecord.State = .finished) -> ImageJob {
    let hasEnded = state == .finished || state == .cancelled
    return ImageJob(
      JobRecord(
        id: JobID(rawValue: number), name: nil, options: RequestOptions(variant: .standard),
        state: state, counts: JobCounts(total: 20), submittedAt: WallTime(rawValue: 0),
        finishedAt: hasEnded ? WallTime(rawValue: 5_000) : nil))
  }
}

extension ClusterStatus {
  /// The status of a cluster with settings of every kind.
  static func sample(
    _ error: StoreErrorStatus? = nil, workers: [Worker] = [], memory: Memory = .init(),
    wait: Wait? = nil, waitingHosts: [Wait] = [], moreWaitingHosts: Int = 0,
    proxies: ProxySettings = .none, dataDirectory: String = "/data"
  ) -> ClusterStatus {
    ClusterStatus(
      state: .running, processID: 1, version: "0", startedAt: WallTime(rawValue: 0),
      socketPath: "/socket", dataDirectory: dataDirectory, cacheDirectory: "/data",
      storeName: "thumbnails", workers: workers, memory: memory, transfers: 0, activeJobs: 0,
      viewers: 0, lateAnswers: 0, discardedLate: 0, journalError: nil, storeError: error,
      wait: wait, waitingHosts: waitingHosts, moreWaitingHosts: moreWaitingHosts, limits: Limits(),
      settings: CoordinatorSettings(
        workerExecutable: "/imgworker", idleExit: .seconds(600),
        allowedNetworks: ["10.0.0.0/8"], allowedDirectories: ["/srv"],
        authorityFile: "/own.pem", proxies: proxies, requiresSandbox: true))
  }
}
