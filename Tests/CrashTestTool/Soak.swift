import Glibc
import ImgSystem
import SeededRandom
import StoreCrashSupport
import Synchronization

/// Readers and writers of one store at the same time: threads of this process, and of others of its
/// kind that it starts.
///
/// The store is so small that writers evict each other's pictures all the time. So what is checked
/// is not that a picture is there, but that what is there is right: see ``SoakReader`` and
/// ``SoakWriter``; and, in the end, that the store is sound.
struct Soak {
  /// How long it lasts.
  enum Extent {
    case seconds(Int)
    /// So many for each thread.
    case operations(Int)
  }

  let directory: String
  var readerCount = 8
  var writerCount = 4
  var processCount = 1
  /// Writers of other processes have the numbers below.
  var firstWriter = 0
  var seed: UInt64 = 1
  var extent = Extent.operations(500)

  private static let budgetByteCount: Int64 = 1 << 20
  private static let patience = Duration.seconds(600)

  /// - Returns: whether nothing was wrong.
  func run() throws -> Bool {
    let others = try (1..<max(processCount, 1)).map(startProcess)
    let isWellHere = try runThreads()
    var isWell = isWellHere
    for other in others {
      let status = other.child.waitForExit(until: .now + Self.patience)
      if status == nil { other.child.signal(SIGKILL) }
      isWell = isWell && status == .exited(0)
    }
    return isWell
  }

  private func runThreads() throws -> Bool {
    let began = ContinuousClock.now
    let store = try PictureStore(directory: directory, budgetByteCount: Self.budgetByteCount)
    let tally = SoakTally()
    var threads: [ServiceThread<Never>] = []
    for index in 0..<writerCount {
      threads.append(
        try thread("writer", index) { limit in
          var writer = SoakWriter(store: store, number: firstWriter + index, seed: seed)
          limit.repeated {
            try writer.step()
          } onEnd: {
            tally.addWriter($0, $1)
          }
        })
    }
    for index in 0..<readerCount {
      threads.append(
        try thread("reader", index) { limit in
          var reader = SoakReader(
            store: store, writerCount: firstWriter + writerCount * max(processCount, 1),
            seed: seed &+ UInt64(1_000 * firstWriter + index))
          limit.repeated {
            try reader.step()
          } onEnd: {
            tally.addReader($0, $1)
          }
        })
    }
    for thread in threads { thread.join() }
    tally.add(try store.defects())
    let report = tally.report(
      in: ContinuousClock.now - began, figures: try store.figures(),
      threads: "\(readerCount) readers and \(writerCount) writers")
    try FileIO.writeAll(STDOUT_FILENO, report.text)
    return report.isWell
  }

  private func thread(
    _ name: String, _ index: Int, _ body: @escaping @Sendable (SoakLimit) -> Void
  ) throws -> ServiceThread<Never> {
    let limit = SoakLimit(extent)
    return try ServiceThread(name: "\(name) \(index)", capacity: 1) { _ in body(limit) }
  }

  // MARK: - Other processes

  private func startProcess(_ index: Int) throws -> SoakProcess {
    guard let program = ThisProcess.executableDirectory else {
      throw UsageError(description: "there is no /proc to find this program by")
    }
    let length =
      switch extent {
      case .seconds(let count): ["--seconds", "\(count)"]
      case .operations(let count): ["--operations", "\(count)"]
      }
    let numbers = [
      "--readers": readerCount, "--writers": writerCount,
      "--first-writer": firstWriter + index * writerCount, "--seed": Int(seed) + index,
    ]
    return SoakProcess(
      child: try ChildProcess.spawn(
        executable: "\(program)/imgcrashtest",
        arguments: ["soak", directory] + length + numbers.flatMap { [$0.key, "\($0.value)"] },
        environment: nil, descriptors: []))
  }
}

/// Holds a child, which cannot be copied, for an array.
private final class SoakProcess {
  let child: ChildProcess

  init(child: consuming ChildProcess) {
    self.child = child
  }
}

/// When a thread of a soak ends.
struct SoakLimit: Sendable {
  private let deadline: ContinuousClock.Instant?
  private let count: Int

  init(_ extent: Soak.Extent) {
    switch extent {
    case .seconds(let seconds):
      deadline = .now + .seconds(seconds)
      count = .max
    case .operations(let count):
      deadline = nil
      self.count = count
    }
  }

  /// Repeats `step` until the limit, or it finds something wrong.
  func repeated(_ step: () throws -> String?, onEnd: (_ count: Int, _ finding: String?) -> Void) {
    var done = 0
    while done < count, deadline.map({ ContinuousClock.now < $0 }) ?? true {
      do {
        if let finding = try step() { return onEnd(done, finding) }
      } catch {
        return onEnd(done, "\(error)")
      }
      done += 1
    }
    onEnd(done, nil)
  }
}

/// A reader of a soak: all it sees are whole pictures, and of no number an earlier one after a
/// later one.
struct SoakReader {
  private let store: PictureStore
  private let writerCount: Int
  private var random: SeededGenerator
  private var lastGenerations: [Int: Int] = [:]

  private static let batchCount = 16

  init(store: PictureStore, writerCount: Int, seed: UInt64) {
    self.store = store
    self.writerCount = writerCount
    random = SeededGenerator(seed: seed)
  }

  /// - Returns: what was wrong; `nil` when nothing was.
  mutating func step() throws -> String? {
    switch random.next() % 64 {
    case 0:
      _ = try store.figures()
    case 1:
      for picture in try store.contents().values {
        if let finding = check(picture) { return finding }
      }
    case 2..<8:
      let numbers = (0..<Self.batchCount).map { _ in someNumber() }
      _ = try store.hitCount(numbers, at: 0)
    default:
      guard let picture = try store.picture(someNumber(), at: 0) else { return nil }
      return check(picture)
    }
    return nil
  }

  private mutating func check(_ picture: Picture) -> String? {
    let last = lastGenerations[picture.number] ?? 0
    guard picture.generation >= last else { return "\(picture) seen after generation \(last)" }
    lastGenerations[picture.number] = picture.generation
    return nil
  }

  private mutating func someNumber() -> Int {
    SoakWriter.numbers(ofWriter: Int.random(in: 0..<writerCount, using: &random))
      .randomElement(using: &random) ?? 0
  }
}

/// A writer of a soak: under its own numbers, it finds what it stored last or,
/// evicted or expired, nothing.
struct SoakWriter {
  private let store: PictureStore
  private var plan: StorePlan
  private var model = ReferenceStore(isEvicting: true)

  private static let numberCount = 200

  static func numbers(ofWriter number: Int) -> Range<Int> {
    number * numberCount..<(number + 1) * numberCount
  }

  init(store: PictureStore, number: Int, seed: UInt64) {
    self.store = store
    plan = StorePlan(
      .writing, seed: seed &* 31 &+ UInt64(number), numbers: Self.numbers(ofWriter: number))
  }

  /// - Returns: what was wrong; `nil` when nothing was.
  mutating func step() throws -> String? {
    let step = plan.next()
    var numbers: [Int] = []
    switch step.action {
    case .put(let pictures):
      try store.put(pictures, at: step.now)
      numbers = pictures.map(\.number)
    case .remove(let removed):
      try store.remove(removed)
      numbers = removed
    default:
      try store.clean(at: step.now)
    }
    model.apply(step)
    // The other writers evict.
    model.loosen { _ in true }
    let found = try numbers.compactMap { try store.picture($0, at: 0) }
    return model.differences(fromFound: found, among: numbers, at: 0).first
  }
}

/// What the threads of a soak did, and what they found wrong.
final class SoakTally: Sendable {
  private struct Sums {
    var reads = 0
    var writes = 0
    var findings: [String] = []
  }

  private let sums = Mutex(Sums())

  func addReader(_ count: Int, _ finding: String?) {
    sums.withLock { sums in
      sums.reads += count
      if let finding { sums.findings.append("a reader: \(finding)") }
    }
  }

  func addWriter(_ count: Int, _ finding: String?) {
    sums.withLock { sums in
      sums.writes += count
      if let finding { sums.findings.append("a writer: \(finding)") }
    }
  }

  func add(_ defects: [String]) {
    sums.withLock { $0.findings += defects }
  }

  /// - Returns: a line on what was done, and one for each finding.
  func report(
    in time: Duration, figures: PictureStore.Figures, threads: String
  ) -> (text: String, isWell: Bool) {
    sums.withLock { sums in
      let summary = """
        \(threads) for \(time.components.seconds) s: \(sums.reads) reads, \(sums.writes) writes, \
        \(figures.evictionCount) evictions, \(figures.entryCount) pictures left in \
        \(figures.occupiedByteCount) bytes of a file of \(figures.fileByteCount); \
        \(sums.findings.count) findings
        """
      let lines = [summary] + sums.findings
      return (lines.map { $0 + "\n" }.joined(), sums.findings.isEmpty)
    }
  }
}
