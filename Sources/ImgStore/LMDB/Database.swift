import CLMDB

/// A named table of an environment. It is opened once and valid until the environment closes.
struct Database: Sendable {
  let handle: MDB_dbi

  /// The environment's own unnamed tables: the free pages and the directory of named tables
  /// (`FREE_DBI` and `MAIN_DBI` of LMDB, which `mdb_stat` also uses).
  static let freePages = Database(handle: 0)
  static let directory = Database(handle: 1)
}

/// The pages and entries of one table.
struct DatabaseStatistics {
  let entryCount: Int
  /// Branch, leaf and overflow pages.
  let pageCount: Int
  let pageByteCount: Int
}
