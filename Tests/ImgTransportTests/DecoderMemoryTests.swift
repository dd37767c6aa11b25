import ImgModel
import ImgSystem
import ImgTransport
import Testing

/// The memory that a worker shares with a decoder.
@Suite struct DecoderMemoryTests {
  @Test func `a decoder reads the picture that its worker has put`() throws {
    let worker = try PictureMemory(maximumByteCount: 4)
    let decoder = try PictureMemory(mapping: worker.file)
    worker.put([1, 2, 3].span)
    #expect(decoder.withPicture(byteCount: 3) { $0.count } == 3)
    #expect(decoder.withPicture(byteCount: 3) { $0[2] } == 3)
    #expect(decoder.maximumByteCount == 4)
  }

  @Test func `a picture that was cleared is zeros`() throws {
    let worker = try PictureMemory(maximumByteCount: 4)
    let decoder = try PictureMemory(mapping: worker.file)
    worker.put([1, 2, 3].span)
    worker.clear(byteCount: 2)
    #expect(decoder.withPicture(byteCount: 3) { [$0[0], $0[1], $0[2]] } == [0, 0, 3])
  }

  @Test func `a picture is put from an open file`() throws {
    let memory = try PictureMemory(maximumByteCount: 4)
    let file = try MemoryFile(containing: [5, 6]).file
    #expect(try memory.put(contentsOf: file.descriptor, upTo: 4) == 2)
    #expect(memory.withPicture(byteCount: 2) { $0[1] } == 6)
  }

  @Test func `a worker copies the thumbnail that a decoder has put`() throws {
    let worker = try ThumbnailMemory(maximumByteCount: 4)
    let decoder = try ThumbnailMemory(mapping: worker.file)
    #expect(decoder.maximumByteCount == 4)
    decoder.put([1, 2, 3, 4].span)
    #expect(worker.thumbnail(byteCount: 4) == [1, 2, 3, 4])
    try worker.releaseThumbnail()
    #expect(worker.thumbnail(byteCount: 4) == [0, 0, 0, 0])
  }

  @Test(arguments: [.min, -1, 0, 5, .max])
  func `a thumbnail of impossible size is none`(byteCount: Int) throws {
    #expect(try ThumbnailMemory(maximumByteCount: 4).thumbnail(byteCount: byteCount) == nil)
  }

  @Test func `the worker sees when the decoder has read the header`() throws {
    let worker = try ThumbnailMemory(maximumByteCount: 4)
    let decoder = try ThumbnailMemory(mapping: worker.file)
    worker.beginPicture()
    #expect(worker.isInHeader)
    decoder.beginPixels()
    #expect(!worker.isInHeader)
    worker.beginPicture()
    #expect(worker.isInHeader)
  }
}
