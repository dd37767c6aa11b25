import Testing

@testable import ImgFetch

@Suite struct BodyBufferTests {
  @Test func `a body may reach the limit and not pass it`() {
    var buffer = BodyBuffer(maximumByteCount: 4)
    buffer.grow(to: buffer.capacity(toFit: 3))
    buffer.append([1, 2, 3])
    #expect(buffer.hasRoom(for: 1))
    #expect(!buffer.hasRoom(for: 2))
    #expect(buffer.capacity == 4)
  }

  @Test func `a declared length reserves at most a mebibyte before it is proven`() {
    var buffer = BodyBuffer(maximumByteCount: 1 << 30)
    buffer.declaredByteCount = 1 << 29
    #expect(buffer.capacity(toFit: 1_000) == 1 << 20)
    buffer.grow(to: 1 << 20)
    buffer.append([UInt8](repeating: 1, count: 1 << 20))
    #expect(buffer.capacity(toFit: 1_000) == 1 << 29)
  }

  @Test func `a body of unknown length grows by eighths`() {
    var buffer = BodyBuffer(maximumByteCount: 1 << 30)
    buffer.grow(to: 4 << 20)
    buffer.append([UInt8](repeating: 1, count: 4 << 20))
    #expect(buffer.capacity(toFit: 1_000) == 9 << 19)
  }
}
