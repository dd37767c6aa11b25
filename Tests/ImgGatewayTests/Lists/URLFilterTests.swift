import Testing

@testable import ImgGateway

struct URLFilterTests {
  @Test func `a text is found in either case, and no text finds every URL`() {
    #expect(URLFilter("Cat").matches("https://a.example/BIGCAT.jpg"))
    #expect(!URLFilter("cat").matches("https://a.example/dog.jpg"))
    #expect(URLFilter(nil).matches("https://a.example/dog.jpg"))
  }

  @Test func `a search does not tell the password in a URL`() {
    let url = "https://user:secret@a.example/b.jpg"
    #expect(URLFilter("user:").matches(url))
    #expect(!URLFilter("user:s").matches(url))
    #expect(!URLFilter("secret").matches(url))
  }
}
