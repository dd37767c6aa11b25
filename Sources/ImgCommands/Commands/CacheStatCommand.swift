import ImgClient
import ImgModel
package import ImgSettings

/// `imgctl cache stat`: shows the size and the use of the store.
package struct CacheStatCommand: Command {
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl cache stat", summary: "show the size of the store and its hit rate",
    options: [.json] + OptionDescription.places,
    notes: ["A record is a thumbnail, an original or the facts of a picture."],
    examples: [.init("imgctl cache stat", "Records, bytes, budget, and the share of hits.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let statistics = try context.store.statistics()
    if isJSON {
      try context.output.write(json: StoreReport(statistics))
    } else if let statistics {
      try context.output.write(text(of: statistics, at: context.now))
    } else {
      context.noteAbsentStore()
    }
    return .success
  }

  private func text(of statistics: CacheStatistics, at now: WallTime) -> String {
    var table = Table([.text("records"), .number("\(statistics.recordCount)")])
    table.addRow(["record bytes", HumanText.size(statistics.byteCount)])
    table.addRow(["expired, not yet removed", "\(statistics.expiredCount)"])
    table.addRow(["unfinished downloads", "\(statistics.partialCount)"])
    table.addRow(["their size", HumanText.size(statistics.partialByteCount)])
    table.addRow(["pinned by jobs", "\(statistics.pinnedCount)"])
    table.addRow(["their size", HumanText.size(statistics.pinnedByteCount)])
    table.addRow(["occupied", HumanText.size(statistics.occupiedByteCount)])
    table.addRow(["budget", HumanText.size(statistics.budgetByteCount ?? 0)])
    if let disk = statistics.diskByteCount {
      table.addRow(["limit of the disk", HumanText.size(disk)])
    }
    if let oldest = statistics.oldestStoredAt {
      table.addRow(["oldest", HumanText.age(of: WallTime(oldest), at: now)])
    }
    if let counters = statistics.counters {
      table.addRow(["hits", "\(counters.hits)"])
      table.addRow(["misses", "\(counters.misses)"])
      table.addRow(["hit rate", counters.hitRate.map { "\(HumanText.number($0 * 100)) %" } ?? "-"])
      table.addRow(["put", "\(counters.stores)"])
      table.addRow(["evicted", "\(counters.evictions)"])
      table.addRow(["removed expired", "\(counters.expiredRemovals)"])
      table.addRow(["removed damaged", "\(counters.damagedRemovals)"])
    }
    table.addRow(["free pages", "\(statistics.freePageCount)"])
    table.addRow(["reclaimable by compact", HumanText.size(statistics.freeByteCount)])
    table.addRow(["file", HumanText.size(statistics.fileByteCount)])
    table.addRow(["map", HumanText.size(statistics.mapByteCount)])
    return table.rendered
  }
}
