import ImgModel
import ImgWire
import ImgWorkerMachine

/// A store that workers share: which records there are, without their bytes.
package final class SimulatedStore {
  private struct Record: Hashable {
    let name: PictureName
    /// `nil` of an original.
    let variant: Variant?
  }

  private var records: Set<Record> = []
  private var origins: Set<String> = []

  package init() {}

  // MARK: - Records

  func put(_ request: StoreRequest) {
    for record in request.records {
      let variant = record.kind == .thumbnail ? request.order.request.variant : nil
      records.insert(Record(name: request.order.name, variant: variant))
    }
  }

  func hasOriginal(of name: PictureName) -> Bool {
    records.contains(Record(name: name, variant: nil))
  }

  /// Whether all that the order asks for is there.
  func answers(_ order: FetchOrder) -> Bool {
    let request = order.request
    let hasThumbnail = records.contains(Record(name: order.name, variant: request.variant))
    return (!request.keep.includesOriginal || hasOriginal(of: order.name))
      && (request.keep == .original || hasThumbnail)
  }

  /// What a look-up finds. Under the HTTP policy every record is stale.
  func lookUp(_ batch: Batch, at now: ContinuousClock.Instant) -> LookupResults {
    var hits: [LookupResults.Hit] = []
    var originals: [LeaseID] = []
    var misses: [LeaseID] = []
    for item in batch.items {
      let policy = batch.request.fetch.cachePolicy
      guard policy == .cacheElseLoad, let order = try? FetchOrder(item, of: batch, at: now) else {
        misses.append(item.lease)
        continue
      }
      if answers(order) {
        hits.append(LookupResults.Hit(lease: item.lease, thumbnail: .simulated))
      } else if hasOriginal(of: order.name) {
        originals.append(item.lease)
      } else {
        misses.append(item.lease)
      }
    }
    return LookupResults(hits: hits, originals: originals, misses: misses)
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
