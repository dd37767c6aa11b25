import ImgModel
import ImgWire

/// Gathers assignments into one message for each worker and kind of request.
struct BatchCollector {
  private struct Group: Hashable {
    let worker: WorkerID
    let request: ThumbnailRequest
    let retention: Retention
    let isUrgent: Bool
    let takesStale: Bool

    /// The requests of most groups are equal. Comparing them is cheaper than hashing them.
    func hash(into hasher: inout Hasher) {
      hasher.combine(worker)
      hasher.combine(request.variant.width << 16 | request.variant.height)
    }
  }

  private var groups: [Group: [Assignment]] = [:]
  private var order: [Group] = []

  /// - Parameter takesStale: see `Batch.takesStale`.
  mutating func add(_ granted: Lease.Granted, takesStale: Bool = false) {
    let group = Group(
      worker: granted.worker, request: granted.item.key.request, retention: granted.item.granted,
      isUrgent: granted.item.urgency.viewer > 0, takesStale: takesStale)
    let assignment = Assignment(lease: granted.lease, url: granted.item.url.text)
    if let index = groups.index(forKey: group) {
      groups.values[index].append(assignment)
    } else {
      groups[group] = [assignment]
      order.append(group)
    }
  }

  func messages(_ message: (Batch) -> CoordinatorMessage) -> [Effect] {
    order.flatMap { group in
      Self.framed(groups[group, default: []]).map { items in
        let batch = Batch(
          group.request, retention: group.retention, isUrgent: group.isUrgent, items: items,
          takesStale: group.takesStale)
        return .send(message(batch), to: group.worker)
      }
    }
  }

  /// Cuts a batch so that each part fits a frame whatever its URLs are: JSON may write a byte as
  /// six.
  private static func framed(_ items: [Assignment]) -> [[Assignment]] {
    let byteCountMaximum = Frame.maximumByteCount / 8
    var parts: [[Assignment]] = [[]]
    var byteCount = 0
    for item in items {
      let itemByteCount = item.url.utf8.count + 64
      if byteCount + itemByteCount > byteCountMaximum, !(parts.last ?? []).isEmpty {
        parts.append([])
        byteCount = 0
      }
      parts[parts.count - 1].append(item)
      byteCount += itemByteCount
    }
    return parts
  }
}
