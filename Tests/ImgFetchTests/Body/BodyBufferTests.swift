import ImgSystem
import Testing

@testable import ImgFetch

@Suite struct BodyBufferTests {
  @Test func `a body may reach the limit and not pass it`() throws {
    var buffer = BodyBuffer(maximumByteCount: 4)
    buffer.grow(to: buffer.capacity(toFit: 3))
    try buffer.append(3)
    #expect(buffer.hasRoom(for: 1))
    #expect(!buffer.hasRoom(for: 2))
    #expect(buffer.capacity == 4)
  }

  @Test func `a declared length reserves no more than as much again as has arrived`() throws {
    var buffer = BodyBuffer(maximumByteCount: 1 << 30)
    buffer.declaredByteCount = 3 << 20
    #expect(buffer.capacity(toFit: 1_000) == 64 << 10)
    buffer.grow(to: 1 << 20)
    try buffer.append(1 << 20)
    #expect(buffer.capacity(toFit: 1_000) == 2 << 20)
    buffer.grow(to: 2 << 20)
    try buffer.append(2 << 20 - 1 << 20)
    #expect(buffer.capacity(toFit: 1_000) == 3 << 20)
  }

  @Test func `a body of unknown length grows by eighths`() throws {
    var buffer = BodyBuffer(maximumByteCount: 1 << 30)
    buffer.grow(to: 4 << 20)
    try buffer.append(4 << 20)
    #expect(buffer.capacity(toFit: 1_000) == 9 << 19)
  }

  @Test(arguments: [(1, nil, false), (1, 4 << 20, false), (1, (4 << 20) + 1, true)])
  func `a body is due for a file when it is declared too long for memory`(
    count: Int, declared: Int?, isDue: Bool
  ) {
    var buffer = BodyBuffer(maximumByteCount: 1 << 30)
    buffer.declaredByteCount = declared
    #expect(buffer.isDueForFile(adding: count) == isDue)
    buffer.stayInMemory()
    #expect(!buffer.isDueForFile(adding: count))
  }

  @Test func `a body is due for a file when it becomes too long for memory`() throws {
    var buffer = BodyBuffer(maximumByteCount: 1 << 30)
    buffer.grow(to: 4 << 20)
    try buffer.append(4 << 20)
    let isDue = (0...1).map { buffer.isDueForFile(adding: $0) }
    #expect(isDue == [false, true])
  }

  @Test func `a body in a file is written in blocks, whatever pieces it comes in`() throws {
    let block = SpoolWriter.blockByteCount
    let file = try SpoolFile(in: "/tmp")
    var buffer = BodyBuffer(maximumByteCount: 1 << 20)
    try buffer.move(to: file, capacity: 1 << 20)
    for _ in 0..<block { try buffer.append(1) }
    #expect(throws: SystemError.self) { try file.contents(byteCount: 1) }
    try buffer.append(1)
    #expect(try file.contents(byteCount: block).count == block)
    #expect(throws: SystemError.self) { try file.contents(byteCount: block + 1) }
    try buffer.append(2 * block)
    try buffer.append(1)
    try buffer.flush()
    #expect(buffer.byteCount == 3 * block + 2)
    #expect(try buffer.content.bytes() == [UInt8](repeating: 1, count: 3 * block + 2))
  }
}

extension BodyBuffer {
  /// Adds so many bytes.
  fileprivate mutating func append(_ count: Int) throws {
    let bytes = [UInt8](repeating: 1, count: count)
    try append(bytes.span)
  }
}
