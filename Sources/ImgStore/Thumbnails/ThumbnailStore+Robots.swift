package import ImgModel

/// What origins' robots.txt say, beside the thumbnails that are fetched under it.
extension ThumbnailStore {
  /// The part of the budget that it may take.
  private static let budgetFraction: Int64 = 16

  /// - Parameter origin: scheme, host and port.
  /// - Returns: `nil` for what is not known, or not any more.
  package func robots(
    of origin: String, at now: WallTime
  ) throws(StoreError) -> RobotsRecord? {
    let found = try environment.glance { transaction throws(StoreError) in
      try transaction.withValue(
        of: ContentKey(robotsOf: origin).bytes, in: tables.robots, RobotsRecord.init(_:)) ?? nil
    }
    return found.flatMap { $0.isExpired(at: now) ? nil : $0 }
  }

  /// Remembers what an origin says, in place of what it said before. When there is too much of that,
  /// all of it goes: it is fetched again where it is wanted.
  package func keep(_ robots: RobotsRecord, of origin: String) throws(StoreError) {
    try change { transaction, _ throws(StoreError) in
      let occupied = try transaction.statistics(of: tables.robots)
      let byteCount = Int64(occupied.pageCount) * Int64(occupied.pageByteCount)
      if let budgetByteCount, byteCount > budgetByteCount / Self.budgetFraction {
        try transaction.clear(tables.robots)
      }
      try transaction.put(
        robots.encoded, for: ContentKey(robotsOf: origin).bytes, in: tables.robots)
    }
  }
}
