package import ImgClient

/// The name of a picture in lists and in paths below `/id`.
package enum PictureID: Hashable, Sendable {
  /// A line of a job, `{job}-{index}`.
  case line(job: ImageJob.ID, index: Int)
  /// A record of the store: ``recordDigitCount`` hexadecimal digits in lower case.
  case record(CacheRecord.ID)
}

extension PictureID: LosslessStringConvertible {
  /// BLAKE2b with 256 bits, as the store has it.
  private static let recordDigitCount = 64

  /// - Returns: `nil` for a text that ``description`` does not write.
  package init?(_ text: String) {
    if text.utf8.count == Self.recordDigitCount, text.utf8.allSatisfy(Self.isRecordDigit) {
      self = .record(text)
      return
    }
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let job = UInt64(parts[0]), job > 0, let index = Int(parts[1]) else {
      return nil
    }
    self = .line(job: job, index: index)
    // A name has one spelling: no signs, and no zeros before a number.
    guard description == text else { return nil }
  }

  package var description: String {
    switch self {
    case .line(let job, let index): "\(job)-\(index)"
    case .record(let id): id
    }
  }

  private static func isRecordDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: false
    }
  }
}
