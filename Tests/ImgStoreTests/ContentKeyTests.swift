import ImgModel
import Testing

@testable import ImgStore

@Suite
struct ContentKeyTests {
  private let url: ImageURL

  init() throws {
    url = try ImageURL(parsing: "https://example.org/a.jpg")
  }

  /// Pins the format: a new value would make every stored thumbnail unreachable. Computed with
  /// Python's `hashlib.blake2b(digest_size=32)`.
  @Test func `a key is the BLAKE2b hash of domain, URL, NUL and variant`() {
    #expect(
      ContentKey(PictureName(url), variant: .standard).description
        == "cc16bddb28c63b7686801d3074ea57c8aab7e4adf63fb3a2fa99f6c5ba979e2f")
  }

  @Test func `another URL or another variant is another key`() throws {
    let key = ContentKey(PictureName(url), variant: .standard)
    let other = try ImageURL(parsing: "https://example.org/b.jpg")
    #expect(ContentKey(PictureName(other), variant: .standard) != key)
    #expect(ContentKey(PictureName(url), variant: try Variant(width: 256, height: 255)) != key)
    #expect(ContentKey(PictureName(url), variant: .standard) == key)
  }

  @Test func `a key is read from its text, and from no other text`() {
    let key = ContentKey(PictureName(url), variant: .standard)
    let text = key.description
    #expect(ContentKey(text) == key)
    for other in [
      "", String(text.dropLast()), text + "0", text.uppercased(), "+f" + text.dropFirst(2),
    ] {
      #expect(ContentKey(other) == nil, "\(other)")
    }
  }

  @Test func `a key can be converted to bytes and back`() {
    let key = ContentKey(PictureName(url), variant: .standard)
    let bytes = key.bytes
    let read = ContentKey(bytes.span)
    #expect(read == key)
  }
}
