package import ImgStore

/// Something done to a store at a moment of its clock, as a value: a plan consists of them, a child
/// process is told them, a model is asked what they come to.
package struct StoreStep: Codable, Sendable {
  package enum Action: Codable, Sendable {
    case put([Picture])
    case look([Int])
    case remove([Int])
    case removeStale(Int)
    case clean
    case reset
    /// Closes the store and opens it again.
    case reopen
    /// All that there is, expired or not.
    case contents
  }

  package let action: Action
  package let now: Int

  package init(_ action: Action, at now: Int) {
    self.action = action
    self.now = now
  }
}

/// What a step found.
package struct StepAnswer: Codable, Sendable {
  package var found: [Picture] = []
  package var defects: [String] = []
  package var occupiedByteCount: Int64 = 0

  package init() {}
}

/// A store that takes steps.
package struct SteppedStore {
  private let directory: String
  private let budgetByteCount: Int64
  private var store: PictureStore?

  package init(directory: String, budgetByteCount: Int64) throws(StoreError) {
    self.directory = directory
    self.budgetByteCount = budgetByteCount
    store = try PictureStore(directory: directory, budgetByteCount: budgetByteCount)
  }

  package mutating func take(_ step: StoreStep) throws -> StepAnswer {
    let store = try opened()
    var answer = StepAnswer()
    switch step.action {
    case .put(let pictures): try store.put(pictures, at: step.now)
    case .look(let numbers):
      answer.found = try numbers.compactMap { try store.picture($0, at: step.now) }
    case .remove(let numbers): try store.remove(numbers)
    case .removeStale(let number): try store.removeStale(number, at: step.now)
    case .clean: try store.clean(at: step.now)
    case .reset: try store.reset()
    case .reopen: self.store = nil
    case .contents:
      answer.found = Array(try store.contents().values)
      answer.defects = try store.defects()
      answer.occupiedByteCount = try store.occupiedByteCount()
    }
    return answer
  }

  /// The store; opened again when it was closed, after nothing holds the former one any more: a
  /// process opens an environment once at a time.
  package mutating func opened() throws(StoreError) -> PictureStore {
    if let store { return store }
    let opened = try PictureStore(directory: directory, budgetByteCount: budgetByteCount)
    store = opened
    return opened
  }
}
