import ImgHTTP
import Testing

@testable import ImgGateway

struct RouteTests {
  @Test(
    arguments: [
      ("/", .gallery), ("/assets/v1/gallery.js", .gallery), ("/image", .image),
      ("/health", .health), ("/ready", .ready), ("/metrics", .metrics), ("/v2/list", .list),
      ("/id/1-0", .picture), ("/id/1-0/300/200", .picture), ("/id/1-0/info", .picture),
      ("/photo/1-0", .photo(.line(job: 1, index: 0))),
      ("/photo/1-0?a", .photo(.line(job: 1, index: 0))),
      ("/api/jobs", .jobs), ("/api/jobs/7", .job(7)), ("/api/jobs/7/retry", .retry(7)),
      ("/?url=https://a.example/b&w=3", .image), ("/?w=3&url=a.example", .image),
      ("/?w=3", .gallery), ("/?q=url&curl=x", .gallery), ("/image?x", .image),
      ("/unsafe/aHR0cHM6Ly9oL2E", .optionsPath), ("/unsafe/aHR0cHM6Ly9oL2E.png", .optionsPath),
      ("/v2/list/", .list), ("/v2/list/?page=2", .list), ("/id/1-0/", .picture),
      ("/unsafe/300", .optionsPath), ("/200/aHR0cHM6Ly9oL2E", .optionsPath),
      ("/api/jobs/7/events", .events(7)), ("/_/rs:fit:1:1/plain/https://a.example/b", .optionsPath),
    ] as [(String, Route)])
  func `a path has its route`(path: String, route: Route) {
    #expect(Route(target: path) == route)
  }

  @Test(arguments: [
    "", "x", "/images", "/image/", "/v2", "/v2/lists", "/id", "/assets/a", "/api/job",
    "/api/jobs/x", "/api/jobs/7/stop", "/api/jobs/7/retry/now", "/api/jobs/-1",
    "/api/jobs/18446744073709551616", "/v2?url=a.example",
    "/v2/list/1", "/v2/list//", "/v2/lists/1", "/v2/rs:fit:1:1/plain/https://a.example/b",
    "/assets/v1/a/b", "/assets/rs:fit:1:1/plain/https://a.example/b", "/seed/a/200/300",
    "/seed/a/200", "/seed/a", "/photo/1/200/300", "/photo/1", "/photo/", "/photo/1-0/", "/200/300",
    "/200/300?grayscale", "/g/200/300",
  ])
  func `another path has none`(path: String) {
    #expect(Route(target: path) == nil)
  }

  @Test func `only a retry is a POST, and it is nothing else`() {
    #expect(Route.retry(1).allows(.post))
    #expect(!Route.retry(1).allows(.get))
    for route in [Route.image, .list, .job(1), .gallery] {
      #expect(route.allows(.get) && route.allows(.head))
      #expect(!route.allows(.post) && !route.allows(.other("DELETE")))
    }
  }

  @Test func `the gallery is what tells of pictures that are there`() {
    let parts: [Route] = [
      .gallery, .list, .picture, .photo(.line(job: 1, index: 0)), .jobs, .job(1), .retry(1),
      .events(1),
    ]
    #expect(parts.allSatisfy { $0.belongsToGallery })
    #expect(
      [Route.image, .optionsPath, .health, .ready, .metrics].allSatisfy { !$0.belongsToGallery })
  }
}
