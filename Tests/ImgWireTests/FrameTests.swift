import ImgWire
import Testing

@Suite struct FrameTests {
  private static let payloads: [[UInt8]] = [
    Array("{}".utf8), Array(#"{"type":"drain"}"#.utf8), [UInt8](repeating: 0x20, count: 70_000),
  ]
  private static let stream = payloads.flatMap { Frame.encode($0) }

  private func frames(
    of stream: [UInt8], inPiecesOf size: Int
  ) throws(FrameError) -> [[UInt8]] {
    var decoder = FrameDecoder()
    var frames: [[UInt8]] = []
    for start in stride(from: 0, to: stream.count, by: size) {
      decoder.append(stream[start..<min(start + size, stream.count)])
      while let frame = try decoder.next() { frames.append(Array(frame)) }
    }
    return frames
  }

  @Test(arguments: [1, 2, 3, 5, 7, 4_096, 1 << 20])
  func `frames are decoded from pieces of any size`(size: Int) throws {
    #expect(try frames(of: Self.stream, inPiecesOf: size) == Self.payloads)
  }

  @Test func `the header is the length in big-endian order`() {
    #expect(Frame.encode([UInt8](repeating: 7, count: 0x0102)).prefix(4) == [0, 0, 1, 2])
  }

  @Test(
    arguments: [
      ([0, 0, 0, 0], FrameError.empty),
      ([0x00, 0x10, 0x00, 0x01], .tooLong(byteCount: Frame.maximumByteCount + 1)),
      ([0xFF, 0xFF, 0xFF, 0xFF], .tooLong(byteCount: 0xFFFF_FFFF)),
    ] as [([UInt8], FrameError)])
  func `an invalid length is an error before the payload arrives`(
    header: [UInt8], error: FrameError
  ) {
    var decoder = FrameDecoder()
    decoder.append(header)
    #expect(throws: error) { try decoder.next() }
  }

  @Test func `a frame of the maximum length is decoded`() throws {
    let payload = [UInt8](repeating: 0x20, count: Frame.maximumByteCount)
    #expect(try frames(of: Frame.encode(payload), inPiecesOf: 65_536) == [payload])
  }

  @Test func `memory is held for buffered bytes only`() throws {
    let frame = Frame.encode([UInt8](repeating: 0x20, count: 100_000))
    var decoder = FrameDecoder()
    #expect(!decoder.hasNext && !decoder.isWithinFrame)
    decoder.append(frame + frame[..<50_000])
    #expect(decoder.hasNext && !decoder.isWithinFrame)
    #expect(decoder.heldByteCount >= 150_000)
    _ = try decoder.next()
    #expect(!decoder.hasNext && decoder.isWithinFrame)
    #expect((50_000..<80_000).contains(decoder.heldByteCount))
    decoder.append(frame[50_000...])
    #expect(decoder.hasNext && !decoder.isWithinFrame)
    _ = try decoder.next()
    #expect(!decoder.hasNext && !decoder.isWithinFrame)
    #expect(decoder.heldByteCount == 0)
  }

  @Test func `an error counts as a next frame`() {
    var decoder = FrameDecoder()
    decoder.append([0, 0, 0, 0])
    #expect(decoder.hasNext && !decoder.isWithinFrame)
  }

  @Test func `an error is permanent`() {
    var decoder = FrameDecoder()
    decoder.append([0, 0, 0, 0])
    #expect(throws: FrameError.empty) { try decoder.next() }
    decoder.append(Frame.encode(Array("{}".utf8)))
    #expect(throws: FrameError.empty) { try decoder.next() }
  }

  @Test func `an incomplete frame is not decoded`() throws {
    for count in 0..<6 {
      var decoder = FrameDecoder()
      decoder.append(Frame.encode(Array("{}".utf8)).prefix(count))
      #expect(try decoder.next() == nil || count == 6)
    }
  }
}
