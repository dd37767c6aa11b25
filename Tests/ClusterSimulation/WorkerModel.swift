import ImgModel
import ImgWire

/// A worker process as the coordinator sees it: what it was told and has not answered.
struct WorkerModel {
  /// A lease of a fetch, or one attached to it.
  struct Fetch {
    let lease: LeaseID
    let url: String
    let variant: Variant
    let keep: Keep
    let retention: Retention
    let policy: CachePolicy
    let bypassesStore: Bool
    /// The transfer on which it lives.
    let transfer: LeaseID

    /// The same, pinned by no job.
    var withoutPins: Fetch {
      Fetch(
        lease: lease, url: url, variant: variant, keep: keep, retention: retention.withoutPins,
        policy: policy, bypassesStore: bypassesStore, transfer: transfer)
    }
  }

  /// A body on its way from the origin or held, or an original being decoded.
  struct Transfer {
    enum State {
      case receiving, held, gone
      /// It waits for a slot at the host where its redirect leads.
      case redirected
    }

    /// The lease that began it.
    let id: LeaseID
    let url: String
    var part = PicturePart.whole
    /// The host that is asked, or waited for; `nil` where none is.
    var host: String?
    var isOriginal = false
    var state = State.receiving
  }

  let id: WorkerID
  let number: Int
  var isReady = false
  var lookups: [Batch] = []
  var fetches: [Fetch] = []
  var transfers: [Transfer] = []
  var cancelled: Set<LeaseID> = []
  var isDraining = false

  /// Every lease it holds.
  var leases: [LeaseID] {
    lookups.flatMap { $0.items.map(\.lease) } + fetches.map(\.lease)
  }

  func isFromOriginal(_ fetch: Fetch) -> Bool { transfer(fetch.transfer)?.isOriginal ?? false }

  func decodesOriginal(of url: String) -> Bool {
    fetches.contains { $0.url == url && isFromOriginal($0) }
  }

  func transfer(_ id: LeaseID) -> Transfer? { transfers.first { $0.id == id } }

  /// The newest transfer of the URL whose body is on its way or held.
  func joinableTransfer(of url: String, _ part: PicturePart) -> Transfer? {
    transfers.last { $0.url == url && $0.part == part && $0.state != .gone }
  }

  mutating func setState(_ state: Transfer.State, of id: LeaseID) {
    for index in transfers.indices where transfers[index].id == id {
      transfers[index].state = state
    }
  }

  mutating func redirect(_ id: LeaseID, to host: String) {
    for index in transfers.indices where transfers[index].id == id {
      transfers[index].state = .redirected
      transfers[index].host = host
    }
  }

  /// Takes a lease out; a transfer without leases is over.
  mutating func remove(_ lease: LeaseID) {
    fetches.removeAll { $0.lease == lease }
    cancelled.remove(lease)
    transfers.removeAll { transfer in !fetches.contains { $0.transfer == transfer.id } }
  }

  /// What the origin is asked for: transfers that a lease still wants.
  var receiving: [Transfer] {
    transfers.filter { transfer in
      transfer.state == .receiving
        && fetches.contains { $0.transfer == transfer.id && !cancelled.contains($0.lease) }
    }
  }
}
