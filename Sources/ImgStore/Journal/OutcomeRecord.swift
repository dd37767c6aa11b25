import FoundationEssentials
import ImgWire

/// How an outcome lies in the table `outcomes`. There is one a line, so the frequent one is small.
///
/// | outcome | bytes |
/// |---|---|
/// | done | 1, from cache (0 or 1), format number, 0, then little-endian: width (4), height (4), bytes of thumbnail (4), bytes fetched (8) |
/// | failed | 2, then the failure in JSON |
/// | cancelled | 3 |
enum OutcomeRecord {
  private static let done: UInt8 = 1
  private static let failed: UInt8 = 2
  private static let cancelled: UInt8 = 3
  private static let doneByteCount = 24

  static func encode(_ outcome: Outcome) throws(StoreError) -> [UInt8] {
    switch outcome {
    case .done(let thumbnail, let fromCache, let bytesFetched):
      var record = [done, fromCache ? 1 : 0, thumbnail.format.storedNumber, 0]
      record.reserveCapacity(doneByteCount)
      record.append(littleEndian: UInt32(clamping: thumbnail.width))
      record.append(littleEndian: UInt32(clamping: thumbnail.height))
      record.append(littleEndian: UInt32(clamping: thumbnail.byteCount))
      record.append(littleEndian: Int64(bytesFetched))
      return record
    case .failed(let failure):
      return try [failed] + JSONRecord.encode(failure)
    case .cancelled:
      return [cancelled]
    }
  }

  static func isFailure(_ record: Span<UInt8>) -> Bool {
    record.count > 0 && record[0] == failed
  }

  /// - Throws: ``StoreError/Reason/damaged`` for what no release has written.
  static func decode(_ record: Span<UInt8>) throws(StoreError) -> Outcome {
    guard record.count > 0 else { throw damaged }
    switch record[0] {
    case done:
      guard record.count == doneByteCount, let format = ImageFormat(storedNumber: record[2]) else {
        throw damaged
      }
      return .done(
        Thumbnail(
          format: format,
          width: Int(record.littleEndian(at: 4, as: UInt32.self)),
          height: Int(record.littleEndian(at: 8, as: UInt32.self)),
          byteCount: Int(record.littleEndian(at: 12, as: UInt32.self))),
        fromCache: record[1] != 0,
        bytesFetched: Int(record.littleEndian(at: 16, as: Int64.self)))
    case failed:
      return .failed(try JSONRecord.decode(Failure.self, from: record.extracting(droppingFirst: 1)))
    case cancelled:
      return .cancelled
    default:
      throw damaged
    }
  }

  private static var damaged: StoreError {
    StoreError(.corrupted, operation: "reading an outcome")
  }
}
