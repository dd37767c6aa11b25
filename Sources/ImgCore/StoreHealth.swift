import ImgModel

/// Whether the store takes thumbnails, as the workers' results tell. Each put tries anew, so the
/// first that succeeds ends the trouble, whoever makes it.
struct StoreHealth {
  private(set) var trouble: StoreErrorStatus?

  /// The store has refused a thumbnail.
  ///
  /// - Parameter isServed: whether a viewer has got it nevertheless.
  /// - Returns: the trouble, if it begins with this.
  mutating func noteRefusal(
    _ reason: String, isServed: Bool, at now: WallTime
  ) -> StoreErrorStatus? {
    let isNew = trouble == nil
    var current = trouble ?? StoreErrorStatus(reason: reason, since: now)
    current.reason = reason
    if isServed { current.servedCount += 1 }
    trouble = current
    return isNew ? current : nil
  }

  /// The store has taken a thumbnail.
  ///
  /// - Returns: the trouble, if it ends with this.
  mutating func noteStored() -> StoreErrorStatus? {
    trouble.take()
  }
}
