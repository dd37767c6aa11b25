import StoreCrashSupport

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
