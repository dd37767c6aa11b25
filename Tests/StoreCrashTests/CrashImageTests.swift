import Glibc
import SeededRandom
import StoreCrashSupport
import TestCluster
import TestFiles
import Testing

/// What is left of the data file when everything ends between any two writes: of a killed process,
/// all that it wrote; of a power cut, all that the disk was waited for, and of the rest anything.
@Suite(.timeLimit(.minutes(20)))
struct CrashImageTests {
  private static let seeds: [UInt64] = [1, 2, 3]

  @Test(arguments: seeds)
  func `a crash between any two writes loses no commit`(seed: UInt64) throws {
    let recording = try StoreRecording(seed: seed)
    for length in 0...recording.events.count {
      let commitCount = recording.commitCount(before: length)
      let image = recording.image(after: length) { true }
      try recording.check(image, allowing: commitCount...commitCount + 1, "death \(length)")
    }
  }

  @Test(arguments: seeds)
  func `a power cut between any two writes loses at most the last commit`(seed: UInt64) throws {
    let recording = try StoreRecording(seed: seed)
    var random = SeededGenerator(seed: seed)
    for length in 0...recording.events.count {
      let commitCount = recording.commitCount(before: length)
      let image = recording.image(after: length) { random.next() % 2 == 0 }
      try recording.check(
        image, allowing: max(commitCount - 1, 0)...commitCount + 1, "power cut \(length)")
    }
  }
}

/// The writes of a plan, and what the store holds after each of its commits.
struct StoreRecording {
  /// Those of the data file, and the commits that wrote into it.
  let events: [WriteEvent]
  private let seed: UInt64
  private let beginning: [UInt8]
  /// The first is that before the first commit.
  private let models: [ReferenceStore]

  private static let stepCount = 10
  private static let budgetByteCount: Int64 = 64 << 20

  init(seed: UInt64) throws {
    let directory = try TestDirectory()
    let path = directory.file("store")
    let script = CallScript(isRecording: true)
    var store = try SteppedStore(directory: path, budgetByteCount: Self.budgetByteCount)
    let beginning = try DataFile.bytes(in: path)
    var status = stat()
    try #require(unsafe stat(DataFile.path(in: path), &status) == 0)
    var plan = StorePlan(.writing, seed: seed, numbers: 0..<40)
    var models = [ReferenceStore(isEvicting: false)]
    var events: [WriteEvent] = []
    try script.run {
      for _ in 0..<Self.stepCount {
        let step = plan.next()
        let logLength = script.log.count
        _ = try store.take(step)
        let ofStep = script.log.dropFirst(logLength).filter { $0.isOf(status.st_ino) }
        // What changes nothing is committed without a write.
        guard ofStep.contains(where: \.isWrite) else { continue }
        events += ofStep
        var model = models[models.count - 1]
        model.apply(step)
        models.append(model)
      }
    }
    self.seed = seed
    self.beginning = beginning
    self.models = models
    self.events = events
  }

  func commitCount(before length: Int) -> Int {
    events.prefix(length).count(where: \.isCommitted)
  }

  /// The file after so many events.
  ///
  /// - Parameter isKept: asked of each change that the disk was not waited for.
  func image(after length: Int, keeping isKept: () -> Bool) -> [UInt8] {
    let happened = events.prefix(length)
    let safeLength =
      happened.lastIndex(where: \.isSynced).map { $0 + 1 } ?? 0
    var image = beginning
    for (index, event) in happened.enumerated() {
      switch event {
      case .write(_, let offset, let bytes, let isDurable):
        guard index < safeLength || isDurable || isKept() else { continue }
        extend(&image, to: offset + bytes.count)
        image.replaceSubrange(offset..<offset + bytes.count, with: bytes)
      case .extend(_, let byteCount):
        if index < safeLength || isKept() { extend(&image, to: byteCount) }
      case .synced, .committed:
        break
      }
    }
    return image
  }

  private func extend(_ image: inout [UInt8], to byteCount: Int) {
    guard image.count < byteCount else { return }
    image.append(contentsOf: repeatElement(0, count: byteCount - image.count))
  }

  /// Opens a store that is left with this file, and expects it to hold what it held after one of
  /// the commits, and to go on from there.
  func check(
    _ image: [UInt8], allowing commitCounts: ClosedRange<Int>, _ name: String
  ) throws {
    let directory = try TestDirectory()
    let path = directory.file("store")
    try DataFile.write(image, to: path)
    let trial = "seed \(seed), \(name) of \(events.count)"
    let store: PictureStore
    do {
      store = try PictureStore(directory: path, budgetByteCount: Self.budgetByteCount)
    } catch {
      Issue.record("\(trial): \(error)")
      return
    }
    #expect(try store.defects() == [], "\(trial)")
    let contents = try store.contents().values
    let allowed = models[commitCounts.clamped(to: models.indices.lowerBound...models.count - 1)]
    #expect(
      allowed.contains { $0.differences(fromContents: contents).isEmpty },
      "\(trial): \(allowed.map { $0.differences(fromContents: contents) })")
    let probe = Picture(number: 500, generation: 1, byteCount: 5_000)
    try store.put([probe], at: 0)
    #expect(try store.picture(probe.number, at: 0) == probe, "\(trial)")
    #expect(try store.defects() == [], "\(trial)")
  }
}
