import ImgModel
import Testing

@testable import ImgScheduler

@Suite struct DeferredLinesTests {
  private var lines = DeferredLines()

  private func line(_ position: Int) throws -> QueuedLine {
    let url = try ImageURL(line: "http://a/\(position)")
    return QueuedLine(index: position, position: position, url: .success(url))
  }

  @Test mutating func `a host without room is neither read nor next`() {
    lines.insert(4, of: "a", hasRoom: false)
    #expect(lines.contains("a"))
    #expect(!lines.contains("b"))
    #expect(lines.nextToRead(limit: 8) == nil)
    #expect(lines.nextHost == nil)
  }

  @Test mutating func `the host with the first position is read first, up to the limit`() throws {
    for position in [7, 8, 9] { lines.insert(position, of: "a", hasRoom: true) }
    lines.insert(3, of: "b", hasRoom: true)
    #expect(lines.rangeCount == 2)
    let first = try #require(lines.nextToRead(limit: 2))
    #expect(first.host == "b")
    #expect(first.positions == [3..<4])
    lines.update("b", hasRoom: false)
    let second = try #require(lines.nextToRead(limit: 2))
    #expect(second.host == "a")
    #expect(second.positions == [7..<9])
  }

  @Test mutating func `lines that were read again are taken in their order, then the rest is read`()
    throws
  {
    for position in [3, 4, 5, 9] { lines.insert(position, of: "a", hasRoom: true) }
    // Line 4 has an outcome by now.
    lines.take([try line(3), try line(5)], of: "a", in: [3..<6], hasRoom: true)
    #expect(lines.rangeCount == 1)
    #expect(lines.nextToRead(limit: 8) == nil, "a line is at hand")
    #expect(lines.nextHost == "a")
    #expect(lines.removeFirst(of: "a", hasRoom: true)?.position == 3)
    #expect(lines.removeFirst(of: "a", hasRoom: true)?.position == 5)
    #expect(lines.nextHost == nil)
    #expect(lines.nextToRead(limit: 8)?.positions == [9..<10])
  }

  @Test mutating func `a host is forgotten with its last line`() throws {
    lines.insert(3, of: "a", hasRoom: true)
    lines.take([try line(3)], of: "a", in: [3..<4], hasRoom: true)
    #expect(lines.rangeCount == 0)
    #expect(lines.removeFirst(of: "a", hasRoom: false)?.position == 3)
    #expect(lines.isEmpty)
    #expect(lines.removeFirst(of: "a", hasRoom: true) == nil)
  }

  @Test mutating func `a host's lines before a position are found of either kind`() throws {
    for position in [3, 6] { lines.insert(position, of: "a", hasRoom: true) }
    #expect(lines.contains("a", before: 4))
    #expect(!lines.contains("a", before: 3))
    #expect(!lines.contains("b", before: 9))
    lines.take([try line(3)], of: "a", in: [3..<4], hasRoom: true)
    #expect(lines.contains("a", before: 4), "a line that was read again counts")
    _ = lines.removeFirst(of: "a", hasRoom: true)
    #expect(!lines.contains("a", before: 6))
    #expect(lines.contains("a", before: 7))
  }
}
