import FoundationEssentials
import ImgCommands
import ImgModel
import ImgStore
import ImgSystem

/// One process of a trial of the store: reads what is stored, or puts it again, for a time.
struct StoreProcess {
  enum Act: String {
    case read, write
  }

  /// What is read or written: the store, or LMDB in one of the ways in which it can be called.
  enum Subject: Equatable {
    case store
    case bare(BareStore.Way)

    var name: String {
      switch self {
      case .store: "store"
      case .bare(let way): way.rawValue
      }
    }

    init?(name: String) {
      if name == Subject.store.name {
        self = .store
      } else {
        guard let way = BareStore.Way(rawValue: name) else { return nil }
        self = .bare(way)
      }
    }
  }

  let act: Act
  let subject: Subject
  /// Of the store, or of LMDB's environment.
  let directory: String
  /// How many thumbnails there are.
  let count: Int
  let seconds: Double
  let seed: UInt64

  /// Thumbnails that a writer puts at once.
  static let writtenGroupCount = 16

  init(
    _ act: Act, _ subject: Subject, in directory: String, count: Int, seconds: Double, seed: UInt64
  ) {
    self.act = act
    self.subject = subject
    self.directory = directory
    self.count = count
    self.seconds = seconds
    self.seed = seed
  }

  // MARK: - As arguments

  var arguments: [String] {
    ["store-process", act.rawValue, subject.name, directory, "\(count)", "\(seconds)", "\(seed)"]
  }

  init(arguments: [String]) throws(BenchError) {
    guard arguments.count == 7, let act = Act(rawValue: arguments[1]),
      let subject = Subject(name: arguments[2]), let count = Int(arguments[4]),
      let seconds = Double(arguments[5]), let seed = UInt64(arguments[6])
    else { throw BenchError("store-process is for the use of imgbench itself") }
    self.init(
      act, subject, in: arguments[3], count: count, seconds: seconds, seed: seed)
  }

  // MARK: - In the process

  func run() throws {
    switch act {
    case .read:
      let output = Output(descriptor: 1)
      try output.write(json: try read())
      try output.flush()
    case .write: try write()
    }
  }

  private func read() throws -> HitTrial {
    let content = StoreContent.usual
    switch subject {
    case .store:
      let store = try ThumbnailStore(directory: directory, access: .readOnly)
      let now = WallTime.now
      let keys = try (0..<count).map(content.key)
      return try HitTrial(seconds: seconds, keys: keys, seed: seed) { key in
        let found = try store.withThumbnail(key, at: now) { _, bytes in bytes.count }
        guard found == content.pictureByteCount else { throw BenchError("a hit was missed") }
      }
    case .bare(let way):
      let store = try bareStore()
      let keys = (0..<count).map(content.bareKey)
      return try HitTrial(seconds: seconds, keys: keys, seed: seed) { try store.look(up: $0, way) }
    }
  }

  /// Puts again what is there, so that the size stays and no reader misses anything.
  private func write() throws {
    let content = StoreContent.usual
    let end = ContinuousClock.now + .seconds(seconds)
    let groups = stride(from: 0, to: count - Self.writtenGroupCount, by: Self.writtenGroupCount)
      .map { $0..<$0 + Self.writtenGroupCount }
    guard !groups.isEmpty else { throw BenchError("too few thumbnails for a writer") }
    var turn = 0
    switch subject {
    case .store:
      let store = try ThumbnailStore(
        directory: directory, access: .readWrite(budgetByteCount: Bench.ampleBudgetByteCount))
      while ContinuousClock.now < end {
        let group = groups[turn % groups.count]
        try store.put(group.map { try content.thumbnail($0) }, at: WallTime.now)
        turn += 1
      }
    case .bare:
      let store = try bareStore()
      let record = content.bareRecord
      while ContinuousClock.now < end {
        try store.put(record, for: groups[turn % groups.count].map(content.bareKey))
        turn += 1
      }
    }
  }

  private func bareStore() throws -> BareStore {
    try BareStore(
      directory: directory, recordByteCount: StoreContent.usual.bareRecord.count)
  }
}

/// A ``StoreProcess`` that runs beside this process.
final class RunningStoreProcess {
  private let child: ChildProcess
  private let outputPath: String
  private let deadline: ContinuousClock.Instant

  /// - Parameter outputPath: a file for what it says.
  init(_ process: StoreProcess, outputPath: String) throws {
    let output = try FileIO.create(outputPath)
    guard let programs = ThisProcess.executableDirectory else {
      throw BenchError("/proc is not mounted")
    }
    self.outputPath = outputPath
    deadline = .now + .seconds(60 + 10 * process.seconds)
    child = try ChildProcess.spawn(
      executable: programs + "/imgbench", arguments: process.arguments, environment: nil,
      descriptors: [(parent: output.rawValue, child: 1)])
  }

  /// Waits for its end.
  ///
  /// - Returns: what it said.
  func finish() throws -> [UInt8] {
    let status = child.waitForExit(until: deadline)
    guard status == .exited(0) else {
      child.signal(9)
      throw BenchError("a process of the store's trial \(status?.description ?? "did not end")")
    }
    return try FileIO.contents(of: outputPath, upTo: 1 << 20)
  }
}
