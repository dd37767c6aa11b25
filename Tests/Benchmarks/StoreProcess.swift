import CLMDB
import FoundationEssentials
import ImgCommands
import ImgModel
import ImgStore
import ImgSystem
import SeededRandom

/// One process of a trial of the store: reads what is stored, or puts it again, for a time.
struct StoreProcess {
  enum Act: String {
    case read, write
  }

  /// What is read or written: the store, or LMDB in one of the ways in which it can be called.
  enum Subject: Equatable {
    case store
    case bare(BareStore.Way)

    var name: String {
      switch self {
      case .store: "store"
      case .bare(let way): way.rawValue
      }
    }

    init?(name: String) {
      if name == Subject.store.name {
        self = .store
      } else {
        guard let way = BareStore.Way(rawValue: name) else { return nil }
        self = .bare(way)
      }
    }
  }

  let act: Act
  let subject: Subject
  /// Of the store, or of LMDB's environment.
  let directory: String
  /// How many thumbnails there are.
  let count: Int
  let seconds: Double
  let seed: UInt64

  /// Thumbnails that a writer puts at once.
  static let writtenGroupCount = 16

  init(
    _ act: Act, _ subject: Subject, in directory: String, count: Int, seconds: Double, seed: UInt64
  ) {
    self.act = act
    self.subject = subject
    self.directory = directory
    self.count = count
    self.seconds = seconds
    self.seed = seed
  }

  // MARK: - As arguments

  var arguments: [String] {
    ["store-process", act.rawValue, subject.name, directory, "\(count)", "\(seconds)", "\(seed)"]
  }

  init(arguments: [String]) throws(BenchError) {
    guard arguments.count == 7, let act = Act(rawValue: arguments[1]),
      let subject = Subject(name: arguments[2]), let count = Int(arguments[4]),
      let seconds = Double(arguments[5]), let seed = UInt64(arguments[6])
    else { throw BenchError("store-process is for the use of imgbench itself") }
    self.init(
      act, subject, in: arguments[3], count: count, seconds: seconds, seed: seed)
  }

  // MARK: - In the process

  func run() throws {
    switch act {
    case .read:
      let output = Output(descriptor: 1)
      try output.write(json: try read())
      try output.flush()
    case .write: try write()
    }
  }

  private func read() throws -> HitTrial {
    let content = StoreContent.usual
    switch subject {
    case .store:
      let store = try ThumbnailStore(directory: directory, access: .readOnly)
      let now = WallTime.now
      let keys = try (0..<count).map(content.key)
      return try HitTrial(seconds: seconds, keys: keys, seed: seed) { key in
        let found = try store.withThumbnail(key, at: now) { _, bytes in bytes.count }
        guard found == content.pictureByteCount else { throw BenchError("a hit was missed") }
      }
    case .bare(let way):
      let store = try bareStore()
      let keys = (0..<count).map(content.bareKey)
      return try HitTrial(seconds: seconds, keys: keys, seed: seed) { try store.look(up: $0, way) }
    }
  }

  /// Puts again what is there, so that the size stays and no reader misses anything.
  private func write() throws {
    let content = StoreContent.usual
    let end = ContinuousClock.now + .seconds(seconds)
    let groups = stride(from: 0, to: count - Self.writtenGroupCount, by: Self.writtenGroupCount)
      .map { $0..<$0 + Self.writtenGroupCount }
    guard !groups.isEmpty else { throw BenchError("too few thumbnails for a writer") }
    var turn = 0
    switch subject {
    case .store:
      let store = try ThumbnailStore(
        directory: directory, access: .readWrite(budgetByteCount: Bench.ampleBudgetByteCount))
      while ContinuousClock.now < end {
        let group = groups[turn % groups.count]
        try store.put(group.map { try content.thumbnail($0) }, at: WallTime.now)
        turn += 1
      }
    case .bare:
      let store = try bareStore()
      let record = content.bareRecord
      while ContinuousClock.now < end {
        try store.put(record, for: groups[turn % groups.count].map(content.bareKey))
        turn += 1
      }
    }
  }

  private func bareStore() throws -> BareStore {
    try BareStore(directory: directory, recordByteCount: StoreContent.usual.bareRecord.count)
  }
}

/// A ``StoreProcess`` that runs beside this process.
final class RunningStoreProcess {
  private let child: ChildProcess
  private let outputPath: String
  private let deadline: ContinuousClock.Instant

  /// - Parameter outputPath: a file for what it says.
  init(_ process: StoreProcess, outputPath: String) throws {
    let output = try FileIO.create(outputPath)
    guard let programs = ThisProcess.executableDirectory else {
      throw BenchError("/proc is not mounted")
    }
    self.outputPath = outputPath
    deadline = .now + .seconds(60 + 10 * process.seconds)
    child = try ChildProcess.spawn(
      executable: programs + "/imgbench", arguments: process.arguments, environment: nil,
      descriptors: [(parent: output.rawValue, child: 1)])
  }

  /// Waits for its end.
  ///
  /// - Returns: what it said.
  func finish() throws -> [UInt8] {
    let status = child.waitForExit(until: deadline)
    guard status == .exited(0) else {
      child.signal(9)
      throw BenchError("a process of the store's trial \(status?.description ?? "did not end")")
    }
    return try FileIO.contents(of: outputPath, upTo: 1 << 20)
  }
}

/// The thumbnails that a store is measured with. Each has a number, from which its URL follows.
struct StoreContent {
  /// Bytes of each picture.
  let pictureByteCount: Int
  private let picture: [UInt8]

  /// Two pages a record.
  static let usual = StoreContent(pictureByteCount: 6_000)
  /// One page a record, so that five million of them fit on a usual disk.
  static let small = StoreContent(pictureByteCount: 3_700)

  private static let lifetime = Duration.seconds(30 * 86_400)

  init(pictureByteCount: Int) {
    self.pictureByteCount = pictureByteCount
    var random = SeededGenerator(seed: UInt64(pictureByteCount))
    picture = (0..<pictureByteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }

  func key(_ number: Int) throws -> ContentKey {
    ContentKey(PictureName(try ImageURL(parsing: Self.url(number))), variant: .standard)
  }

  /// - Parameter byteCount: bytes of the picture; `nil` for the usual number of them.
  func thumbnail(_ number: Int, byteCount: Int? = nil) throws -> NewThumbnail {
    let bytes = byteCount.map { [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: $0) }
    let thumbnail = Thumbnail(
      format: .jpeg, width: 256, height: 171, byteCount: byteCount ?? pictureByteCount)
    return NewThumbnail(
      key: try key(number), url: Self.url(number), thumbnail: thumbnail,
      source: SourcePicture(format: .jpeg, width: 4_000, height: 2_667, byteCount: 3_141_592),
      retention: Retention(until: WallTime.now.advanced(by: Self.lifetime)),
      bytes: bytes ?? picture)
  }

  /// A key for LMDB alone, as long and as random as the store's.
  func bareKey(_ number: Int) -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(number))
    return (0..<ContentKey.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }

  /// A record for LMDB alone, as long as the store's (see `ThumbnailRecord`): header, URL, picture.
  var bareRecord: [UInt8] {
    let headerByteCount = 100
    return [UInt8](repeating: 7, count: headerByteCount + Self.url(0).utf8.count) + picture
  }

  /// As long for every number, at an unused address (RFC 5737, TEST-NET-1).
  private static func url(_ number: Int) -> String {
    "http://192.0.2.1/photographs/2024-07/\(1_000_000_000 + number)-large-1024x768.jpg"
  }

  // MARK: - Filling

  private static let groupCount = 256

  func fill(_ store: ThumbnailStore, with numbers: Range<Int>) throws {
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.groupCount) {
      let group = start..<min(start + Self.groupCount, numbers.upperBound)
      try store.put(group.map { try thumbnail($0) }, at: WallTime.now)
    }
  }

  func fill(_ store: BareStore, with numbers: Range<Int>) throws {
    let record = bareRecord
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.groupCount) {
      let group = start..<min(start + Self.groupCount, numbers.upperBound)
      try store.put(record, for: group.lazy.map(bareKey))
    }
  }
}

/// The yardstick: LMDB called as its documentation shows, with the settings of the store and
/// records as long as the store's, but one table, no facts, no checksums, no expiry and no budget.
/// Its file grows with each commit, where the store's grows in steps.
@safe
final class BareStore {
  /// How a value is looked up.
  enum Way: String {
    /// A transaction of its own: begin, get, abort. The value is not looked at.
    case begun = "bare"
    /// A transaction that is kept: renew, get, reset. The value is not looked at.
    case renewed = "bare-renewed"
    /// As `begun`, and the value is copied, so that its bytes are read once, as a hit reads them.
    case copied = "bare-copied"
  }

  private var environment: OpaquePointer?
  private var table: MDB_dbi = 0
  private var kept: OpaquePointer?
  private var copy: [UInt8]

  init(directory: String, recordByteCount: Int) throws {
    copy = [UInt8](repeating: 0, count: recordByteCount)
    try Directory.create(directory)
    try check(unsafe mdb_env_create(&environment))
    try check(unsafe mdb_env_set_maxdbs(environment, 8))
    try check(unsafe mdb_env_set_maxreaders(environment, 512))
    try check(unsafe mdb_env_set_mapsize(environment, 1 << 40))
    let flags = CUnsignedInt(MDB_NOTLS | MDB_NOMETASYNC)
    try check(unsafe mdb_env_open(environment, directory, flags, 0o600))
    try unsafe write { transaction in
      try check(unsafe mdb_dbi_open(transaction, "records", CUnsignedInt(MDB_CREATE), &table))
    }
    try check(unsafe mdb_txn_begin(environment, nil, CUnsignedInt(MDB_RDONLY), &kept))
    unsafe mdb_txn_reset(kept)
  }

  deinit {
    unsafe mdb_txn_abort(kept)
    unsafe mdb_env_close(environment)
  }

  /// Stores the record under every key, as one group.
  func put(_ record: [UInt8], for keys: some Sequence<[UInt8]>) throws {
    try unsafe write { transaction in
      for key in keys {
        let code = unsafe withValue(of: key) { key in
          unsafe withValue(of: record) { record in
            unsafe mdb_put(transaction, table, &key, &record, 0)
          }
        }
        try check(code)
      }
    }
  }

  func look(up key: [UInt8], _ way: Way) throws {
    var transaction = unsafe kept
    if way == .renewed {
      try check(unsafe mdb_txn_renew(transaction))
    } else {
      try check(unsafe mdb_txn_begin(environment, nil, CUnsignedInt(MDB_RDONLY), &transaction))
    }
    defer {
      unsafe way == .renewed ? mdb_txn_reset(transaction) : mdb_txn_abort(transaction)
    }
    var value = unsafe MDB_val()
    try check(unsafe withValue(of: key) { unsafe mdb_get(transaction, table, &$0, &value) })
    guard unsafe value.mv_size == copy.count else {
      throw BenchError("another record than was put")
    }
    if way == .copied {
      unsafe copy.withUnsafeMutableBytes {
        unsafe $0.copyMemory(
          from: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
      }
    }
  }

  private func write(_ body: (OpaquePointer?) throws -> Void) throws {
    var transaction: OpaquePointer?
    try check(unsafe mdb_txn_begin(environment, nil, 0, &transaction))
    do {
      try unsafe body(transaction)
    } catch {
      unsafe mdb_txn_abort(transaction)
      throw error
    }
    try check(unsafe mdb_txn_commit(transaction))
  }

  private func check(_ code: CInt) throws {
    guard code != MDB_SUCCESS else { return }
    throw BenchError("LMDB: \(unsafe String(cString: mdb_strerror(code)))")
  }

  private func withValue(of bytes: [UInt8], _ body: (inout MDB_val) -> CInt) -> CInt {
    unsafe bytes.withUnsafeBytes { memory in
      var value = unsafe MDB_val(
        mv_size: memory.count, mv_data: UnsafeMutableRawPointer(mutating: memory.baseAddress))
      return unsafe body(&value)
    }
  }
}
