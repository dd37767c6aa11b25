import ImgClient
import ImgGateway
import ImgModel

/// Targets and fields of HTTP requests.
extension FuzzTarget {
  static let requests = [
    FuzzTarget(
      "weserv-request",
      texts: [
        "/image?url=ssl:h.example%2Fa.jpg&w=300&h=200&fit=cover&a=focal&fpx=.3&dpr=2&s=x",
        "/image?url=//h.example/a&output=webp&q=80&n=-1&bg=%23abc&blur=1.5&sharp=1&filt=greyscale",
        "/?url=h.example&page=3&maxage=31d&default=photo&filename=a.jpg&we&il&l=6",
      ]
    ) { text in
      check { () throws(RequestRejection) in try ImageQueries().weserv(RequestTarget(text)) }
    },
    FuzzTarget(
      "imgproxy-request",
      texts: [
        "/_/rs:fill:300:200:1/g:fp:0.5:0.5/q:80/plain/https://h.example/a%3Fb@webp",
        "/insecure/pr:a/dpr:2/el:1/bl:1/sh:1/bg:1:2:3/sm:0/exp:1900000000/aHR0cHM6Ly9oL2E.png",
        "/_/s:1:2/fn:YQ:1/att:1/fiu:aHR0cHM6Ly9oL2E/wm:0/zoom:1/aHR0cHM6/Ly9oL2E",
      ]
    ) { text in
      guard let presets = try? ImgproxyPresets(parsing: ["a=w:5/pr:a"]) else {
        preconditionFailure("the preset is valid")
      }
      check { () throws(RequestRejection) in
        try ImageQueries(presets: presets).imgproxy(
          RequestTarget(text), now: WallTime(rawValue: 1_800_000_000_000))
      }
    },
    FuzzTarget(
      "picsum-request",
      texts: [
        "/id/1-0/300/200.webp?grayscale&blur=2", "/id/7-12/info?exif",
        "/v2/list?page=2&limit=100&job=7&q=cat&outcome=failed&code=timeout&after=41",
      ]
    ) { text in
      guard let target = try? RequestTarget(text) else { return }
      if let parameters = try? target.parameters(), let query = try? ListQuery(parameters) {
        precondition((1...ListQuery.maximumLimit).contains(query.limit), "a limit is out of range")
      }
      guard case .picture(let query) = try? PicsumPath(target) else { return }
      precondition(PictureID("\(query.id)") == query.id, "a name changes when it is read again")
      check { () throws(RequestRejection) in
        ImageQuery(ImageRequest(url: "https://h/a", variant: query.variant(of: .standard)))
      }
    },
    FuzzTarget(
      "origin",
      texts: ["https://u:p@good.example.:443/pictures/a", "https://good.example@evil.example/"]
    ) { text in
      guard let list = try? OriginList(parsing: ["https://good.example/pictures"]) else {
        preconditionFailure("the origin is valid")
      }
      guard let url = try? ImageURL(line: text), list.permits(url) else { return }
      precondition(url.host == "good.example", "another host is permitted")
      precondition(url.text.contains("good.example") && url.text.contains("/pictures"))
    },
    FuzzTarget("origin-pattern", texts: ["https://*.good.example:8080/a", "*", "data:"]) { text in
      _ = try? OriginList(parsing: [text])
    },
    FuzzTarget("accept", texts: ["image/avif,image/webp;q=0.9,*/*;q=0.8"]) { text in
      _ = AcceptedFormats(text).format(for: ImageQuery("https://h/a"))
    },
  ]

  /// What a request asks for can be asked of a cluster.
  private static func check(_ parse: () throws(RequestRejection) -> ImageQuery) {
    // A rejection is an answer, too.
    guard let query = try? parse() else { return }
    do throws(ImageError) {
      _ = try InMemoryCluster().storedImage(for: query.request)
    } catch {
      preconditionFailure("a request is out of range: \(error)")
    }
    precondition(
      (try? ImageURL(parsing: query.request.url))?.text == query.request.url,
      "a URL is not normalized")
  }
}
