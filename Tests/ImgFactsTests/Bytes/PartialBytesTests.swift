import Testing

@testable import ImgFacts

@Suite struct PartialBytesTests {
  @Test func `parts that touch or overlap become one`() {
    var bytes = PartialBytes()
    bytes.insert([3, 4], at: 3)
    bytes.insert([7, 8], at: 7)
    bytes.insert([0, 1], at: 0)
    #expect(bytes.heldByteCount == 6)
    #expect(bytes.bytes(in: 3..<5) == [3, 4] && bytes.bytes(in: 2..<4) == nil)
    #expect(bytes.missing(in: 0..<9) == 2..<3)
    #expect(bytes.missing(in: 3..<9) == 5..<7)
    #expect(bytes.missing(in: 3..<5) == nil && bytes.missing(in: 8..<12) == 9..<12)
    bytes.insert([1, 2, 3, 4, 5, 6, 7], at: 1)
    #expect(bytes.bytes(in: 0..<9) == Array(0...8))
    #expect(bytes.missing(in: 0..<9) == nil)
  }

  @Test func `a part around others takes them in`() {
    var bytes = PartialBytes()
    for offset in [2, 5, 8] { bytes.insert([UInt8(offset)], at: offset) }
    bytes.insert(Array(0...9), at: 0)
    #expect(bytes.bytes(in: 0..<10) == Array(0...9))
  }

  @Test func `nothing lies behind the end of the file`() {
    var bytes = PartialBytes(byteCount: 4)
    bytes.insert([2, 3, 4, 5], at: 2)
    #expect(bytes.heldByteCount == 2 && bytes.bytes(in: 2..<5) == nil)
    bytes.insert([9], at: 4)
    bytes.insert([9], at: -1)
    bytes.insert([9], at: .max)
    #expect(bytes.heldByteCount == 2)
    bytes.setByteCount(3)
    #expect(bytes.heldByteCount == 1 && bytes.bytes(in: 2..<3) == [2])
    bytes.setByteCount(1)
    #expect(bytes.heldByteCount == 0 && bytes.knownByteCount == 1)
  }
}
