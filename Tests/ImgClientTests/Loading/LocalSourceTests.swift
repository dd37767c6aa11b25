import FoundationEssentials
import ImgClient
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// Pictures that come from no origin.
@Suite(.timeLimit(.minutes(20)))
struct LocalSourceTests {
  @Test func `a file and a data URL are loaded and stored, without their originals`() async throws {
    let directory = try TestDirectory()
    let backend = try RealBackend(["ALLOW_DIRECTORY": directory.path])
    let picture = try PictureMaker.start().card(index: 1, width: 32, height: 24)
    let file = "file://\(try directory.write(picture, to: "a.jpg"))"
    let data = "data:image/jpeg;base64,\(Data(picture).base64EncodedString())"
    let client = try backend.makeClient()
    for url in [file, data] {
      let image = try await client.image(for: url, size: 256)
      #expect([image.width, image.height] == [32, 24])
      #expect(image.source.byteCount == picture.count)
    }
    var kinds: [CacheRecord.Kind] = []
    for try await record in client.cache.records { kinds.append(record.kind) }
    #expect(kinds == [.thumbnail, .thumbnail])
    #expect(backend.origin.totals().requests == 0)
  }

  @Test func `a file outside the permitted directories is refused`() async throws {
    let backend = try RealBackend()
    let client = try backend.makeClient()
    let error = await #expect(throws: ImageError.self) {
      try await client.image(for: "file:///etc/hostname", size: 64)
    }
    #expect(error?.code == .blockedPath)
  }
}
