import Testing

@testable import ImgWire

/// What a connection keeps of its messages: little, as nothing counts it.
@Suite struct JSONMemoryTests {
  @Test func `a writer keeps no large buffer`() {
    var writer = JSONWriter()
    writer.start(leadingByteCount: 4)
    writer.string(String(repeating: "a", count: 1 << 20))
    #expect(writer.finish().count == 4 + (1 << 20) + 2)
    #expect(writer.bytes.capacity <= 32 << 10)
  }

  @Test func `a memo decodes short JSON once`() throws {
    var memo = JSONMemo<Int>()
    #expect(try decodeCount(of: 100, twiceWith: &memo) == 1)
  }

  @Test func `a memo keeps no long JSON`() throws {
    var memo = JSONMemo<Int>()
    #expect(try decodeCount(of: 1 << 20, twiceWith: &memo) == 2)
  }

  private func decodeCount(of byteCount: Int, twiceWith memo: inout JSONMemo<Int>) throws -> Int {
    let json = [UInt8](repeating: UInt8(ascii: "1"), count: byteCount)
    var decodeCount = 0
    for _ in 0..<2 {
      _ = try memo.value(of: json[...]) { _ in
        decodeCount += 1
        return 1
      }
    }
    return decodeCount
  }
}
