/// Which accesses a read records. Every requested picture counts once, as a hit or as a miss.
package enum AccessRecording: Sendable {
  /// The picture is requested here and nowhere else.
  case hitsAndMisses
  /// After a miss here, a worker makes the picture, and its look-up counts.
  case hits
  /// The request is counted elsewhere, or there is none: a delivery, an export, a listing.
  case none
}

/// Records accesses: sets access bits and counts hits and misses.
struct AccessRecorder: Sendable {
  /// `nil` if this process cannot record accesses.
  private let bits: AccessBits?

  init(_ bits: AccessBits?) {
    self.bits = bits
  }

  /// Records look-ups; the results are in the order of the keys.
  func record(_ keys: [ContentKey], _ lookups: [StoreLookup]) {
    guard let bits else { return }
    var counters = StoreCounters()
    for (key, lookup) in zip(keys, lookups) {
      if case .hit = lookup {
        bits.set(for: key)
        counters.hits += 1
      } else {
        counters.misses += 1
      }
    }
    bits.add(counters)
  }

  /// Records one read.
  func record(_ key: ContentKey, isHit: Bool, _ recording: AccessRecording) {
    guard let bits else { return }
    var counters = StoreCounters()
    switch (recording, isHit) {
    case (.hitsAndMisses, true), (.hits, true):
      bits.set(for: key)
      counters.hits = 1
    case (.hitsAndMisses, false):
      counters.misses = 1
    case (.hits, false), (.none, _):
      return
    }
    bits.add(counters)
  }
}
