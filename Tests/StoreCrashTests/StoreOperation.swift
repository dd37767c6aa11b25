import ImgStore
import StoreCrashSupport
import TestCluster
import TestFiles

/// Everything that is done with a store, each so that it has something to do in the store of
/// ``StoreBase``.
enum StoreOperation: String, CaseIterable, Sendable {
  case create, open, openForReading
  case put, replace, putAndEvict, remove, removeStale, clean, reset, repair
  case picture, lookUpMany, list, verify, summary, figures, clearDeadReaders

  /// Whether it opens the store; the others have it open before.
  var isOpening: Bool { [.create, .open, .openForReading].contains(self) }

  /// So small for an eviction that the store is over it.
  var budgetByteCount: Int64 { self == .putAndEvict ? 128 << 10 : 64 << 20 }

  /// - Parameter store: `nil` for an operation that opens it.
  /// - Returns: the store.
  func perform(on store: PictureStore?, in directory: String) throws -> PictureStore {
    guard let store else {
      return self == .openForReading
        ? try PictureStore(readingFrom: directory)
        : try PictureStore(directory: directory, budgetByteCount: budgetByteCount)
    }
    let numbers = Array(StoreBase.numbers)
    switch self {
    case .create, .open, .openForReading: break
    case .put: try store.put(pictures(100..<103), at: 0)
    case .replace: try store.put(pictures(1..<4), at: 0)
    case .putAndEvict: try store.put(pictures(100..<104), at: 0)
    case .remove: try store.remove([1, 2, 3, 1_000])
    case .removeStale: try store.removeStale(StoreBase.expiring, at: StoreBase.laterTime)
    case .clean: try store.clean(at: StoreBase.laterTime)
    case .reset: try store.reset()
    case .repair: try store.repair()
    case .picture: _ = try store.picture(5, at: 0)
    case .lookUpMany: _ = try store.hitCount(numbers, at: 0)
    case .list: _ = try store.contents()
    case .verify: _ = try store.defects()
    case .summary: _ = try store.occupiedByteCount()
    case .figures: _ = try store.figures()
    case .clearDeadReaders: _ = try store.clearDeadReaders()
    }
    return store
  }

  private func pictures(_ numbers: Range<Int>) -> [Picture] {
    numbers.map { Picture(number: $0, generation: 2, byteCount: 5_000) }
  }
}

/// What a store holds, and what is wrong with it.
struct StoreState: Equatable {
  let contents: [Int: Picture]
  let defects: [String]

  init(of store: PictureStore) throws {
    contents = try store.contents()
    defects = try store.defects()
  }

  /// Whether it is sound and has nothing that the other has not.
  func isPart(of other: StoreState) -> Bool {
    defects.isEmpty && contents.allSatisfy { other.contents[$0.key] == $0.value }
  }
}

/// The data file of a store with pictures, some of them expiring and one damaged: what an operation
/// starts from.
struct StoreBase {
  static let numbers = 0..<12
  /// It expires, as do others, before ``laterTime``.
  static let expiring = 9
  static let laterTime = 100
  private static let damaged = 7

  private let data: [UInt8]

  init() throws {
    let directory = try TestDirectory()
    do {
      let store = try PictureStore(directory: directory.file("store"), budgetByteCount: 64 << 20)
      try store.put(Self.numbers.map(Self.picture), at: 0)
    }
    var data = try DataFile.bytes(in: directory.file("store"))
    // The middle of a picture that no other bytes of the file resemble.
    let picture = Self.picture(Self.damaged).bytes
    guard let start = DataFile.position(of: Array(picture[32..<64]), in: data) else {
      throw DataFile.NotFound()
    }
    data[start] ^= 1
    self.data = data
  }

  private static func picture(_ number: Int) -> Picture {
    Picture(
      number: number, generation: 1, byteCount: 1_000 + 500 * number,
      expiresAt: number >= expiring ? 50 : Picture.never)
  }

  /// Makes a store that begins with it in a directory.
  func write(to directory: String) throws {
    try DataFile.write(data, to: directory)
  }
}
