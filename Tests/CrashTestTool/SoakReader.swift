import SeededRandom
import StoreCrashSupport

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
