import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Pictures of all formats, from their origins to the store and back.
@Suite(.timeLimit(.minutes(20)))
struct SourceFormatTests {
  /// What `get --json` says of a picture, as far as it is checked here.
  private struct Report: Decodable {
    let source_format: ImageFormat
    let source_width: Int
    let from_cache: Bool
  }

  @Test func `a thumbnail of every format is stored with what it was made of`() throws {
    let origin = try TestOrigin()
    let maker = try PictureMaker.start()
    for format in PictureFormat.allCases {
      origin.serve("/\(format)", .body(try maker.card(index: 1, format: format)))
    }
    let urls = PictureFormat.allCases.map { "\(origin.baseURL)/\($0)" }
    let cluster = try Cluster()
    #expect(try cluster.run(urls).done == urls.count)
    let reports = try urls.map { url in
      try cluster.imgctl("get", url, "--json").decoded(Report.self)
    }
    #expect(reports.allSatisfy { $0.from_cache && $0.source_width == 320 })
    let formats = Set(reports.map(\.source_format))
    #expect(formats == Set(ImageFormat.allCases.filter { ![.svg, .jp2].contains($0) }))
  }

  @Test func `each selection of frames is a thumbnail of its own`() throws {
    struct Report: Decodable {
      let format: ImageFormat
      let from_cache: Bool
    }
    let origin = try TestOrigin()
    let maker = try PictureMaker.start()
    origin.serve("/a", .body(try maker.animation(index: 1, frameCount: 3, format: .gif)))
    let url = "\(origin.baseURL)/a"
    let cluster = try Cluster()
    let selections: [([String], ImageFormat)] = [
      ([], .jpeg), (["--frame", "2"], .jpeg), (["--at", "150ms"], .jpeg), (["--poster"], .jpeg),
      (["--animated"], .webp), (["--animated", "--format", "gif"], .gif),
    ]
    for isCached in [false, true] {
      for (options, format) in selections {
        let report = try cluster.begin(["get", url, "--json"] + options).wait()
          .decoded(Report.self)
        #expect(report.format == format && report.from_cache == isCached, "\(options)")
      }
    }
  }

  @Test func `a job makes animations, and names pictures without that frame`() throws {
    let origin = try TestOrigin()
    let maker = try PictureMaker.start()
    origin.serve("/a", .body(try maker.animation(index: 1, frameCount: 3, format: .gif)))
    origin.serve("/b", .body(try maker.card(index: 1)))
    let urls = ["\(origin.baseURL)/a", "\(origin.baseURL)/b"]
    let cluster = try Cluster()
    #expect(try cluster.finished(cluster.submit(urls, "--animated")).done == 2)
    let status = try cluster.finished(cluster.submit(urls, "--frame", "2"))
    #expect(status.done == 1 && status.failed == 1)
  }
}
