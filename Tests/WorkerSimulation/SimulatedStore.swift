import ImgModel
import ImgWire
import ImgWorkerMachine
package import SeededRandom

/// A store that workers share: which records there are, without their bytes.
package final class SimulatedStore {
  private struct Record: Hashable {
    let name: PictureName
    /// `nil` of an original.
    let variant: Variant?
    let part: PicturePart
  }

  /// The oldest first.
  private var records: [Record] = []
  private var origins: Set<String> = []
  /// Whether it takes no records.
  package var isFull = false
  /// Whether it serves stale records while they are revalidated.
  package var servesStale = false
  /// Whether it refuses no record that it has room for.
  package var isCalm = false

  package init() {}

  // MARK: - Records

  func put(_ request: StoreRequest) {
    for new in request.records {
      let order = request.order
      let record =
        switch new.kind {
        case .thumbnail(let index):
          Record(
            name: order.name, variant: order.request.variants[index],
            part: order.request.keep.part)
        case .original: Record(name: order.name, variant: nil, part: .whole)
        }
      if !records.contains(record) { records.append(record) }
    }
  }

  /// Why it does not take a record; `nil` if it takes it.
  func refusal(_ random: inout SeededGenerator) -> StoreRefusal? {
    let failure = Failure(stage: .store, code: .storeFull, detail: "full")
    if isFull { return StoreRefusal(failure: failure, isStoreDegraded: true) }
    guard !isCalm, Int.random(in: 0..<8, using: &random) == 0 else { return nil }
    return StoreRefusal(failure: failure, isStoreDegraded: Bool.random(using: &random))
  }

  /// Removes one of the records.
  package func evict(_ random: inout SeededGenerator) {
    guard !records.isEmpty else { return }
    records.remove(at: Int.random(in: records.indices, using: &random))
  }

  /// It is recreated.
  package func removeAll() {
    records = []
    origins = []
  }

  func hasOriginal(of name: PictureName) -> Bool {
    records.contains(Record(name: name, variant: nil, part: .whole))
  }

  /// Whether all that the order asks for is there.
  func answers(_ order: FetchOrder) -> Bool {
    let request = order.request
    let hasThumbnail = records.contains(
      Record(name: order.name, variant: request.variant, part: request.keep.part))
    return (!request.keep.includesOriginal || hasOriginal(of: order.name))
      && (request.keep == .original || hasThumbnail)
  }

  /// What a look-up finds. Under the HTTP policy every record is stale.
  func lookUp(_ batch: Batch, at now: ContinuousClock.Instant) -> LookupResults {
    var hits: [LookupResults.Hit] = []
    var stale: [LeaseID] = []
    var originals: [LeaseID] = []
    var misses: [LeaseID] = []
    for item in batch.items {
      let lease = item.lease
      guard let order = try? FetchOrder(item, of: batch, at: now) else {
        misses.append(lease)
        continue
      }
      switch batch.request.fetch.cachePolicy {
      case .cacheElseLoad, .cacheOnly:
        if answers(order) {
          hits.append(LookupResults.Hit(lease: lease, thumbnail: .simulated))
        } else if hasOriginal(of: order.name) {
          originals.append(lease)
        } else {
          misses.append(lease)
        }
      case .byProtocol where answers(order) && (batch.takesStale || servesStale):
        hits.append(LookupResults.Hit(lease: lease, thumbnail: .simulated))
        if !batch.takesStale { stale.append(lease) }
      case .byProtocol, .reload: misses.append(lease)
      }
    }
    return LookupResults(hits: hits, stale: stale, originals: originals, misses: misses)
  }

  // MARK: - Robots

  func putRobots(of origin: String) {
    origins.insert(origin)
  }

  func hasRobots(of origin: String) -> Bool { origins.contains(origin) }
}

extension Thumbnail {
  static let simulated = Thumbnail(format: .jpeg, width: 256, height: 192, byteCount: 1_000)
}
