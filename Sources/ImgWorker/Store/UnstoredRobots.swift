import ImgModel
import ImgStore
import Synchronization

/// The rules of robots.txt that the store did not take, such as on a full disk: this worker remembers them in its
/// place. The texts take a small part of what rules take that are read.
final class UnstoredRobots: Sendable {
  private struct Records {
    var texts: [String: RobotsRecord] = [:]
    var byteCount = 0
  }

  private let records = Mutex(Records())

  /// As much as 32 of the longest files.
  static let maximumByteCount = 16 << 20
  /// What a short text takes beside its bytes.
  private static let overheadByteCount = 256

  /// Remembers the rules of an origin. If all together take too much, the others are dropped, and fetched again
  /// when needed.
  func keep(_ record: RobotsRecord, of origin: String) {
    let byteCount = record.text.utf8.count + origin.utf8.count + Self.overheadByteCount
    records.withLock { records in
      if records.byteCount + byteCount > Self.maximumByteCount { records = Records() }
      records.texts[origin] = record
      records.byteCount += byteCount
    }
  }

  func record(of origin: String, at now: WallTime) -> RobotsRecord? {
    records.withLock { $0.texts[origin] }.flatMap { $0.isExpired(at: now) ? nil : $0 }
  }

  func forget() { records.withLock { $0 = Records() } }
}
