import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

@Suite(.timeLimit(.minutes(20))) struct FetchTests {
  @Test func `a body comes in byte for byte`() throws {
    let origin = try TestOrigin()
    let picture = noise(300_000)
    origin.serve("/a.jpg", .body(picture, contentType: "image/jpeg"))
    let url = origin.baseURL + "/a.jpg"

    let transfer = try Fetcher().fetch(url)

    let body = try #require(transfer.body)
    #expect(body.bytes == picture)
    #expect(transfer.bytesReceived == picture.count)
  }

  @Test func `a chunked body comes in whole`() throws {
    let origin = try TestOrigin()
    let picture = noise(100_000)
    origin.serve("/a", .body(picture, delivery: .chunked))
    #expect(try Fetcher().fetch(origin.baseURL + "/a").body?.bytes == picture)
  }

  @Test func `two hundred transfers run side by side and keep their bodies apart`() throws {
    let origin = try TestOrigin { path, _ in
      .body(noise(5_000, seed: UInt64(path.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })))
    }
    let paths = (0..<200).map { "/\($0)" }
    let fetcher = try Fetcher { $0.transfers = 200 }

    let transfers = try fetcher.fetch(paths.map { origin.baseURL + $0 })

    for (path, transfer) in zip(paths, transfers) {
      let expected = noise(5_000, seed: UInt64(path.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) }))
      #expect(transfer.body?.bytes == expected)
    }
    #expect(fetcher.pool.activeCount == 0)
  }

  @Test func `transfers one after the other share a connection, also over an error`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body([1]))
    let fetcher = try Fetcher()

    for path in ["/a", "/missing", "/a"] { _ = try fetcher.fetch(origin.baseURL + path) }

    #expect(origin.totals().requests == 3)
    #expect(origin.totals().connectionsOpened == 1)
  }

  @Test func `a request asks for images, uncompressed, and names its maker`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body([1]))

    _ = try Fetcher().fetch(origin.baseURL + "/a")

    let headers = origin.counters("/a").headersSeen
    #expect(headers["accept"]?.hasPrefix("image/") == true)
    #expect(headers["accept-encoding"] == "identity")
    #expect(headers["cookie"] == nil)
    #expect(headers["user-agent"] == "imgctl-test/1")
  }

  @Test func `letters beyond ASCII in a path are percent-encoded`() throws {
    let origin = try TestOrigin()
    _ = try Fetcher().fetch(origin.baseURL + "/gr\u{FC}n?x=\u{E9}")
    #expect(origin.snapshot.paths.keys.sorted() == ["/gr%C3%BCn", "/gr%C3%BCn?x=%C3%A9"])
  }

  @Test func `a cancelled transfer ends at the origin and is not reported`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(1 << 20), delivery: .drip(bytesPerSecond: 10_000)))
    let fetcher = try Fetcher()
    let id = try fetcher.start(origin.baseURL + "/a")
    try fetcher.run { origin.counters("/a").bytesSent > 0 }

    fetcher.pool.cancel(id)

    #expect(fetcher.pool.activeCount == 0)
    #expect(fetcher.pool.takeFinished().isEmpty)
    #expect(origin.waitUntil { $0["/a"].aborted == 1 })
  }

  @Test func `a result that was not taken yet can be cancelled`() throws {
    let fetcher = try Fetcher()
    let id = try fetcher.start("http://127.0.0.1:99999/")
    fetcher.pool.cancel(id)
    #expect(fetcher.pool.takeFinished().isEmpty)
  }

  @Test func `a handle that was cancelled serves the next transfer`() throws {
    let origin = try TestOrigin()
    origin.serve("/held", .body([1], delivery: .hold))
    origin.serve("/a", .body([2]))
    let fetcher = try Fetcher()
    let id = try fetcher.start(origin.baseURL + "/held")
    fetcher.pool.cancel(id)
    #expect(try fetcher.fetch(origin.baseURL + "/a").body?.bytes == [2])
  }

  @Test func `time that has passed before counts`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body([1], delivery: .hold))
    let fetcher = try Fetcher()
    let id = try fetcher.start(origin.baseURL + "/a", begunAt: .now - .seconds(60))
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.failure?.code == .timeout)
  }
}
