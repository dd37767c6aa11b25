/// How HEVC is put into a file (ISO/IEC 14496-15 section 8.3.3).
package struct HEVCConfiguration: Sendable {
  /// More than any stream has.
  private static let maximumParameterSetCount = 64

  /// Bytes of the length that stands before each unit of a sample: 1…4.
  package let lengthByteCount: Int
  /// Units that come before those of the first sample.
  package private(set) var parameterSets: [[UInt8]] = []

  init(_ box: ISOMediaBox) throws(FactsError) {
    let head = try box.payload.fields(at: 0, count: 23)
    lengthByteCount = head.u8(21) & 3 + 1
    var offset = 23
    for _ in 0..<head.u8(22) {
      let count = try box.payload.fields(at: offset, count: 3).u16(1)
      offset += 3
      for _ in 0..<count {
        guard parameterSets.count < Self.maximumParameterSetCount else {
          throw .unsupported("HEVC with more than \(Self.maximumParameterSetCount) parameter sets")
        }
        let byteCount = try box.payload.fields(at: offset, count: 2).u16(0)
        parameterSets.append(try box.payload.fields(at: offset + 2, count: byteCount).bytes)
        offset += 2 + byteCount
      }
    }
  }
}
