import ImgCommands
import ImgModel

/// Lists and URLs.
extension FuzzTarget {
  static let texts = [
    FuzzTarget(
      "list",
      seeds: [Array("# a comment\nhttp://a.example/1.jpg\r\n\n  b.example/ü  \n".utf8)]
    ) { bytes in
      // The same entries, however the bytes are split.
      precondition(entries(of: [bytes]) == entries(of: bytes.map { [$0] }), "entries differ")
    },
    FuzzTarget(
      "url",
      texts: [
        "http://user:p@a.example:80/x?y=z#f", "//xn--bcher-kva.example/%zz", "http://[::1]/",
        "file:///a/b%20c", "data:image/png;base64,AAAA", "bücher.example/ä",
      ]
    ) { text in
      guard let url = try? ImageURL(line: text) else { return }
      guard let again = try? ImageURL(line: url.text) else {
        preconditionFailure("the text of a URL is no URL")
      }
      precondition(again.text == url.text, "a URL changes when it is read again")
      _ = try? DataURL.contents(of: url)
      _ = try? FileURL.path(of: url.text)
    },
    FuzzTarget("query-filter", texts: ["utm_*", "a*b*c"]) { text in
      _ = try? QueryFilter(text.split(separator: " ").map(String.init))
    },
  ]

  private static func entries(of chunks: [[UInt8]]) -> [String]? {
    var reader = ListReader(name: "list")
    do throws(ListError) {
      var entries: [String] = []
      for chunk in chunks { entries += try reader.feed(chunk).flatMap(\.self) }
      return entries + reader.finish().flatMap(\.self)
    } catch {
      return nil
    }
  }
}
