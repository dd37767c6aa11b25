package import ImgClient

/// The order of the records of a store: that of their ids as numbers.
package enum RecordOrder {
  private static let digits = Array("0123456789abcdef".utf8)

  /// The greatest id of as many digits that is less; `nil` for 0, the first one.
  ///
  /// - Parameter id: see ``PictureID``.
  package static func id(before id: CacheRecord.ID) -> CacheRecord.ID? {
    var bytes = Array(id.utf8)
    guard let last = bytes.lastIndex(where: { $0 != digits[0] }),
      let value = digits.firstIndex(of: bytes[last]), value > 0
    else { return nil }
    bytes[last] = digits[value - 1]
    for index in bytes.indices[(last + 1)...] { bytes[index] = digits[15] }
    return String(decoding: bytes, as: UTF8.self)
  }
}
