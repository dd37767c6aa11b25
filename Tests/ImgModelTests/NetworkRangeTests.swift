import ImgModel
import Testing

@Suite struct NetworkRangeTests {
  @Test func `a block contains its addresses and no others`() throws {
    let block = try #require(NetworkRange(bytes: [10, 1, 2, 3], prefixLength: 12))
    #expect(block.bytes == [10, 0, 0, 0])
    #expect(block.contains([10, 15, 255, 255]))
    #expect(!block.contains([10, 16, 0, 0]))
    #expect(!block.contains([UInt8](repeating: 10, count: 16)))
  }

  @Test func `an invalid address or prefix is refused`() {
    #expect(NetworkRange(bytes: [1, 2, 3], prefixLength: 8) == nil)
    #expect(NetworkRange(bytes: [1, 2, 3, 4], prefixLength: 33) == nil)
    #expect(NetworkRange(bytes: [1, 2, 3, 4], prefixLength: -1) == nil)
  }
}
