import Testing

@testable import ImgFacts

@Suite struct ByteWindowTests {
  private let file = ByteWindow(WholeBytes(Array(0...9)))

  @Test func `a part has offsets of its own and ends where it ends`() throws {
    let part = file.part(at: 4, count: 3)
    #expect(try part.bytes(at: 0, count: 3) == [4, 5, 6])
    #expect(try part.bytes(at: 1, count: 3) == nil)
    #expect(try part.bytes(at: 2, upTo: 9) == [6])
    #expect(part.fileRange(at: 1, count: 2) == 5..<7)
    #expect(file.part(at: 2, count: 4).part(at: 3, count: 9).byteCount == 1)
    #expect(file.part(at: .max, count: .max).byteCount == 0)
    #expect(file.part(at: -1, count: 4).byteCount == 0)
  }

  @Test func `joined parts are one`() throws {
    let joined = try #require(
      ByteWindow(joining: [file.part(at: 7, count: 2), file.part(at: 1, count: 3)]))
    #expect(try joined.bytes(at: 1, count: 3) == [8, 1, 2])
    #expect(try joined.part(at: 1, count: 2).bytes(at: 0, count: 2) == [8, 1])
    #expect(joined.fileRange(at: 1, count: 2) == nil && joined.fileRange(at: 2, count: 2) == 1..<3)
    #expect(ByteWindow(joining: []) == nil)
  }

  @Test func `a read behind the end of the file says that it is cut`() {
    #expect(throws: FactsError.truncated) { try file.bytes(at: 9, count: 2) }
    #expect(throws: FactsError.truncated) { try file.bytes(at: .max, count: .max) }
    #expect(throws: FactsError.invalid("a part of the file is shorter than its header")) {
      try file.part(at: 0, count: 4).fields(at: 2, count: 3)
    }
  }

  @Test func `what is missing is asked for`() {
    var bytes = PartialBytes()
    bytes.insert([1, 2], at: 0)
    let window = ByteWindow(bytes).part(at: 1, count: 100)
    #expect(throws: FactsError.needsBytes(1..<9)) { try window.bytes(at: 0, count: 8) }
  }

  @Test func `numbers are read in both orders, and are 0 behind the end`() {
    let fields = BinaryFields([1, 2, 3, 4, 5, 6, 7, 8])
    #expect(fields.u16(0) == 0x0102 && fields.u24(1) == 0x020304 && fields.u32(4) == 0x0506_0708)
    let little = BinaryFields([1, 2, 3, 4], .littleEndian)
    #expect(little.u16(0) == 0x0201 && little.u32(0) == 0x0403_0201 && little.u16(3) == 4)
    #expect(fields.u8(8) == 0 && fields.u8(-1) == 0)
    #expect(BinaryFields([UInt8](repeating: 0xFF, count: 8)).u64(0) == .max)
  }
}
