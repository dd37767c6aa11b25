import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// Lists that are none, or hold what are no URLs.
@Suite(.timeLimit(.minutes(20)))
struct ListTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster()
    origin = try ListOrigin()
  }

  @Test func `an unreadable list is wrong use and creates no job`() throws {
    let directory = cluster.directory
    let link = directory.file("link")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: directory.file("nowhere"))
    let zeros = try directory.write(Array("http://a/\0b".utf8), to: "zeros")
    let utf16 = try directory.write([0xFF, 0xFE] + Array("h\0t\0t\0p\0".utf8), to: "utf16")
    let cases = [
      directory.file("missing"): "No such file",
      link: "No such file",
      directory.path: "Is a directory",
      zeros: "is not a text file",
      utf16: "is not a text file",
      try directory.write([], to: "empty"): "contains no URL",
      try directory.write(Array("# a\n\n  #b\r\n\t\n".utf8), to: "comments"): "contains no URL",
    ]
    for (path, reason) in cases {
      let result = try cluster.imgctl("submit", path)
      #expect(result.exitCode == 2, "\(path)")
      #expect(result.messages.contains(reason), "\(result.messages)")
      #expect(result.outputBytes.isEmpty)
    }
    #expect(try cluster.client().jobs().jobs.isEmpty)
  }

  @Test func `a line that is not a URL fails alone with its code`() throws {
    let lines: [(bytes: [UInt8], code: Failure.Code?)] = [
      (Array(origin.url("/p/1").utf8), nil),
      (Array("ftp://example.org/a.jpg".utf8), .unsupportedScheme),
      (Array("file:///etc/passwd".utf8), .blockedPath),
      (Array("no url at all".utf8), .invalidURL),
      (Array("http://".utf8), .invalidURL),
      (Array("http://a/\u{1}b".utf8), .invalidURL),
      ([0xC3, 0x28, 0xA0, 0xFF, 0xFE], .invalidURL),
      (
        Array("http://127.0.0.1/".utf8) + Array(repeating: UInt8(ascii: "a"), count: 10 << 20),
        .invalidURL
      ),
      (Array(origin.url("/p/2").utf8), nil),
    ]
    let list = Array(lines.map(\.bytes).joined(separator: [UInt8(ascii: "\n")]))
    let path = try cluster.directory.write(list, to: "bad")
    #expect(try cluster.imgctl("submit", path).output == "1\n")
    let status = try cluster.finished(JobID(rawValue: 1))
    #expect(status.total == lines.count)
    #expect(status.done == 2)
    #expect(status.failed == lines.count - 2)

    var codes: [Int: Failure.Code] = [:]
    try cluster.client().results(of: status.job, isFailedOnly: true) { entry in
      if case .failed(let failure, _) = entry.outcome { codes[entry.index] = failure.code }
    }
    for (index, line) in lines.enumerated() { #expect(codes[index] == line.code, "line \(index)") }
  }

  @Test func `a byte order mark and CRLF line ends are ignored`() throws {
    let text = "\u{FEFF}# list\r\n" + origin.pictures(3).joined(separator: "\r\n")
    let path = try cluster.directory.write(Array(text.utf8), to: "list")
    let result = try cluster.imgctl("submit", "--wait", "--json", path)
    #expect(result.exitCode == 0)
    #expect(try result.decoded(JobStatus.self).done == 3)
  }

  @Test func `a list is read from standard input`() throws {
    let path = try cluster.list(origin.pictures(2))
    let result = try cluster.imgctl("submit", "-", "--wait", inputPath: path)
    #expect(result.exitCode == 0)
  }

  @Test func `two hundred thousand bad lines are counted exactly, in bounded memory`() throws {
    let count = 200_000
    let path = try cluster.list((0..<count).map { "bad line \($0)" })
    let result = try cluster.imgctl("submit", "--wait", "--json", path)
    #expect(result.exitCode == 1)
    let status = try result.decoded(JobStatus.self)
    #expect(status.total == count)
    #expect(status.failed == count)
    #expect(try cluster.imgctl("failures", "1").lines.count == count)
    let peak = try #require(peakByteCount(of: try cluster.runningCoordinator().processID))
    #expect(peak < 100 << 20)
  }
}
