import ImgCommands
import ImgModel
import Testing

@Suite struct PictureSourceTests {
  private static let files = ["photo.jpg", "example.org", "example.org/a.jpg", "//h.example/a"]

  @Test(
    arguments: [
      ("https://h/a", .url("https://h/a")), ("<https://h/a>", .url("<https://h/a>")),
      ("data:,a", .url("data:,a")), ("localhost:80/a", .url("localhost:80/a")),
      ("photo.jpg", .file("photo.jpg")), ("gone.jpg", .file("gone.jpg")),
      ("images/a.jpg", .file("images/a.jpg")), ("/srv/a.jpg", .file("/srv/a.jpg")),
      ("./a:b", .file("./a:b")), ("-", .file("-")), ("file:///srv/a.jpg", .file("/srv/a.jpg")),
      ("example.org", .file("example.org")), ("example.org/a.jpg", .file("example.org/a.jpg")),
      ("example.org/b.jpg", .url("example.org/b.jpg")), ("//h.example/a", .file("//h.example/a")),
      ("//h.example/b", .url("//h.example/b")),
    ] as [(String, PictureSource)])
  func `a text is an existing file, or a URL if it begins like one`(
    text: String, source: PictureSource
  ) throws {
    #expect(try PictureSource(text) { Self.files.contains($0) } == source)
  }
}
