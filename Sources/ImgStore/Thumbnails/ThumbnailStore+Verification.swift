extension SharedStore {
  /// Checks every record and every index entry, and calls `report` with each defect.
  ///
  /// The store may be used and replaced meanwhile. Each entry is compared with others of its
  /// snapshot.
  ///
  /// - Parameter isRepairing: whether to remove defects after reporting them. Requests make the
  ///   removed thumbnails again.
  /// - Returns: the number of records.
  package func verify(
    isRepairing: Bool, _ report: (StoreDefect) throws -> Void
  ) throws -> Int {
    var recordCount = 0
    for table in StoreDefect.Table.allCases {
      var next: [UInt8]? = []
      while let start = next {
        let part = try current().check(table, from: start)
        if table == .thumbnails { recordCount += part.count }
        for defect in part.defects {
          try report(defect)
          if isRepairing {
            try change { store throws(StoreError) in try store.repair(defect) }
          }
        }
        next = part.next
      }
    }
    return recordCount
  }
}

extension ThumbnailStore {
  /// The number of entries that are checked on one snapshot, which pins freed pages.
  private static let checkedCount = 256

  /// - Returns: the start of the `next` part; `nil` at the end.
  func check(
    _ table: StoreDefect.Table, from start: [UInt8]
  ) throws(StoreError) -> (count: Int, defects: [StoreDefect], next: [UInt8]?) {
    var count = 0
    var defects: [StoreDefect] = []
    var next: [UInt8]?
    try environment.read { transaction throws(StoreError) in
      try transaction.scan(tables.database(of: table), from: start) {
        key, value throws(StoreError) in
        guard count < Self.checkedCount else {
          next = key.copy()
          return false
        }
        count += 1
        let reason = try tables.defect(in: table, key: key, value: value, transaction)
        if let reason {
          defects.append(StoreDefect(table: table, entryKey: key.copy(), reason: reason))
        }
        return true
      }
    }
    return (count, defects, next)
  }

  fileprivate func repair(_ defect: StoreDefect) throws(StoreError) {
    try change { transaction, counters throws(StoreError) in
      if try tables.repair(defect, transaction) == .damaged { counters.damagedRemovals += 1 }
    }
  }
}
