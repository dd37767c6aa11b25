package import ImgModel

/// The robots.txt of origins.
extension ThumbnailStore {
  /// The records may take this part of the budget.
  private static let budgetFraction: Int64 = 16

  /// The robots.txt of an origin.
  ///
  /// - Parameter origin: scheme, host and port.
  /// - Returns: `nil` if it is not stored or has expired.
  package func robots(
    of origin: String, at now: WallTime
  ) throws(StoreError) -> RobotsRecord? {
    let found = try environment.withSnapshot { transaction throws(StoreError) in
      try transaction.withValue(
        of: ContentKey(robotsOf: origin).bytes, in: tables.robots, RobotsRecord.init(_:)) ?? nil
    }
    return found.flatMap { $0.isExpired(at: now) ? nil : $0 }
  }

  /// Stores the robots.txt of an origin. If the records take too much space, all of them are
  /// dropped and fetched again when needed.
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
