/// A store as simply as it can be told: a dictionary.
package struct ReferenceStore: Sendable {
  private struct Entry {
    var picture: Picture
    /// Whether the store may have dropped it to keep within its budget.
    var mayBeMissing = false
  }

  private var entries: [Int: Entry] = [:]
  /// Whether the budget is so small that a put may evict whatever is not of its group.
  private let isEvicting: Bool

  package init(isEvicting: Bool) {
    self.isEvicting = isEvicting
  }

  package mutating func apply(_ step: StoreStep) {
    switch step.action {
    case .put(let pictures): put(pictures, at: step.now)
    case .remove(let numbers): for number in numbers { entries[number] = nil }
    case .removeStale(let number):
      if let entry = entries[number], entry.picture.expiresAt <= step.now { entries[number] = nil }
    case .clean: entries = entries.filter { $0.value.picture.expiresAt > step.now }
    case .reset: entries = [:]
    case .look, .reopen, .contents: break
    }
  }

  private mutating func put(_ pictures: [Picture], at now: Int) {
    if isEvicting { loosen { _ in true } }
    for picture in pictures {
      var expiresAt = picture.expiresAt
      if let old = entries[picture.number]?.picture, old.expiresAt > now {
        expiresAt = max(expiresAt, old.expiresAt)
      }
      entries[picture.number] = Entry(picture: picture.expiring(at: expiresAt))
    }
  }

  /// Allows that another process has removed pictures.
  package mutating func loosen(where isLoose: (Picture) -> Bool) {
    for (number, entry) in entries where isLoose(entry.picture) {
      entries[number]?.mayBeMissing = true
    }
  }

  /// In what a look-up of `numbers` differs from what it should have found, in words.
  package func differences(
    fromFound found: [Picture], among numbers: [Int], at now: Int
  ) -> [String] {
    let fresh = entries.filter { number, entry in
      numbers.contains(number) && entry.picture.expiresAt > now
    }
    return Self.differences(of: fresh, from: found)
  }

  /// In what all that a store has differs from all that it should have, in words.
  package func differences(fromContents contents: some Sequence<Picture>) -> [String] {
    Self.differences(of: entries, from: contents)
  }

  private static func differences(
    of entries: [Int: Entry], from found: some Sequence<Picture>
  ) -> [String] {
    var missing = entries
    var differences: [String] = []
    for picture in found {
      let expected = missing.removeValue(forKey: picture.number)?.picture
      if picture != expected {
        differences.append("\(picture) in place of \(expected.map { "\($0)" } ?? "nothing")")
      }
    }
    differences += missing.values.filter { !$0.mayBeMissing }.map { "missing: \($0.picture)" }
    return differences
  }

  /// Forgets what was allowed to be missing and is: it does not come back.
  package mutating func adopt(_ contents: some Sequence<Picture>) {
    let present = Set(contents.map(\.number))
    entries = entries.filter { !$0.value.mayBeMissing || present.contains($0.key) }
  }

  package var count: Int { entries.count }
}
