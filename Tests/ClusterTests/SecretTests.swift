import FoundationEssentials
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import Testing

/// What processes let others see of the secrets that they are given.
@Suite(.timeLimit(.minutes(20))) struct SecretTests {
  private let origin: ListOrigin
  private static let secret = "1234567890"

  init() throws {
    origin = try ListOrigin()
  }

  @Test func `no command, manifest or log shows a password in a URL`() throws {
    let cluster = try Cluster()
    let lines = ["/p/1", "/missing/1"].map {
      origin.url($0).replacing("http://", with: "http://ada:\(Self.secret)@")
    }
    let invalid = "ftp://ada:\(Self.secret)@h/"
    let job = try cluster.submit(lines + [invalid])
    let status = try cluster.finished(job)
    #expect(status.done == 1)
    let directory = cluster.directory.file("out")
    var shown = try [
      ["failures", "\(job)"], ["failures", "\(job)", "--json"], ["status", "\(job)"],
      ["status", "\(job)", "--json"], ["wait", "\(job)", "--json"], ["list", "--json"],
      ["cache", "ls"], ["cache", "ls", "--json"], ["export", "\(job)", directory],
      ["get", lines[0], "--json"], ["get", lines[0], "--no-cache", "--json"],
      ["get", lines[1]], ["get", lines[1], "--json"], ["get", invalid],
      ["get", lines[1], "--fallback", lines[0], "--json"],
      ["cache", "get", lines[1]], ["cache", "rm", invalid], ["retry", "\(job)", "--all"],
    ].map { words in
      let result = try cluster.begin(words).wait()
      return result.output + result.messages
    }
    let manifest = try FileIO.contents(of: "\(directory)/manifest.jsonl", upTo: 1 << 20)
    shown.append(String(decoding: manifest, as: UTF8.self))
    shown.append(try cluster.runningCoordinator().messages())
    for text in shown { #expect(!text.contains(Self.secret)) }
    #expect(shown.count { $0.contains("ada:***@") } >= 9)
    // The URL itself still has it.
    #expect(try cluster.finished(job).done == 1)
    #expect(try cluster.imgctl("cache", "rm", lines[0]).messages.contains("removed 1 thumbnail"))
  }

  @Test func `headers from a file and a variable are sent and not visible to other users`() throws {
    let cluster = try Cluster(["TOKEN": "X-Token: \(Self.secret)"], isStarted: false)
    try origin.hold("/held")
    let headers = try cluster.directory.write(
      Array("Authorization: Bearer \(Self.secret)\r\n\nX-Other: a: b\n".utf8), to: "headers")
    let run = try cluster.begin([
      "get", origin.url("/held"), "--header", "@\(headers)", "--header-env", "IMGCTL_TOKEN",
      "--header", "X-Plain: c",
    ])
    try #require(origin.origin.waitUntil { $0.totals.requests == 1 })
    let coordinator = try cluster.client().coordinatorProcessID
    for process in [run.processID, coordinator] + childProcessIDs(of: coordinator) {
      let line = try FileIO.contents(of: "/proc/\(process)/cmdline", upTo: 1 << 16)
      #expect(!String(decoding: line, as: UTF8.self).contains(Self.secret))
    }
    // Only root may read this of processes that do not dump.
    let variables = try? FileIO.contents(of: "/proc/\(coordinator)/environ", upTo: 1 << 20)
    #expect(!String(decoding: variables ?? [], as: UTF8.self).contains(Self.secret))
    origin.origin.release("/held")
    #expect(try run.wait().exitCode == 0)
    let seen = origin.origin.counters("/held").headersSeen
    #expect(seen["authorization"] == "Bearer \(Self.secret)")
    #expect(seen["x-other"] == "a: b")
    #expect(seen["x-token"] == Self.secret)
    #expect(seen["x-plain"] == "c")
  }

  @Test func `the passwords of a proxy and of a netrc are used and not shown`() throws {
    let proxy = try ForwardProxy(
      // ada:word-of-proxy
      hosts: ["a.invalid": origin.origin.port], credentials: "YWRhOndvcmQtb2YtcHJveHk=")
    let cluster = try Cluster(isStarted: false)
    let netrc = try cluster.directory.write(
      Array("machine a.invalid login bob password \(Self.secret)\n".utf8), to: ".netrc")
    // The flag is for the coordinator that the command starts, which it does not name on its command line.
    let started = try cluster.begin([
      "start", "--proxy", "http://ada:word-of-proxy@127.0.0.1:\(proxy.port)",
    ]).wait()
    #expect(started.exitCode == 0)
    let coordinator = try cluster.client().coordinatorProcessID
    for process in [coordinator] + childProcessIDs(of: coordinator) {
      let line = try FileIO.contents(of: "/proc/\(process)/cmdline", upTo: 1 << 16)
      #expect(!String(decoding: line, as: UTF8.self).contains("word-of-proxy"))
    }
    let url = "http://a.invalid/p/1"
    let list = try cluster.directory.write(Array("\(url)\n".utf8), to: "list")
    let shown = try [
      ["submit", list, "--netrc", "--wait"], ["get", url, "--netrc-file", netrc, "--json"],
      ["status", "1", "--json"], ["status"], ["status", "--json"], ["status", "--limits"],
      ["status", "--limits", "--json"], ["failures", "1", "--json"], ["list", "--json"],
      ["start", "--proxy", "http://ada:other@127.0.0.1:1"],
    ].map { words in
      let result = try cluster.begin(words).wait()
      return result.output + result.messages
    }
    let log = try FileIO.contents(of: cluster.dataDirectory + "/coordinator.log", upTo: 1 << 20)
    for text in shown + [String(decoding: log, as: UTF8.self)] {
      #expect(!text.contains(Self.secret) && !text.contains("word-of-proxy"))
    }
    #expect(shown[2].contains(#""done":1"#))
    #expect(shown[1].contains(#""from_cache":true"#))
    #expect(shown[3].contains("proxy        http://***@127.0.0.1:\(proxy.port)\n"))
    #expect(shown[4].contains(#""proxy":{"http":"http://***@127.0.0.1:\#(proxy.port)""#))
    #expect(shown[9].contains("--proxy"))
    #expect(proxy.requests == ["GET \(url)"])
    #expect(
      origin.origin.counters("/p/1").headersSeen["authorization"]?.hasPrefix("Basic ") == true)
  }

  @Test func `an invalid header is reported without its value`() throws {
    let cluster = try Cluster(["TOKEN": Self.secret], isStarted: false)
    for arguments in [
      ["--header", "@/nowhere/headers"], ["--header-env", "IMGCTL_NO_SUCH"],
      ["--header-env", "IMGCTL_TOKEN"],
    ] {
      let result = try cluster.begin(["get", origin.url("/p/1")] + arguments).wait()
      #expect(result.exitCode == 2)
      #expect(result.messages.hasPrefix("imgctl get: \(arguments[0]): "))
      #expect(!result.messages.contains(Self.secret))
    }
  }

  @Test func `no process leaves a core file`() throws {
    let cluster = try Cluster()
    try origin.hold("/held")
    let run = try cluster.begin(["get", origin.url("/held")])
    try #require(origin.origin.waitUntil { $0.totals.requests == 1 })
    let coordinator = try cluster.runningCoordinator().processID
    let client = try cluster.client()
    // What has both filters, its worker's and its own, has started.
    try #require(
      try eventually {
        let decoders = try client.status().workers.flatMap(\.decoderProcessIDs)
        return decoders.count == 4 && decoders.allSatisfy { filterCount(of: $0) == 2 }
      })
    let children = childProcessIDs(of: coordinator)
    #expect(children.count == 6)
    for process in [run.processID, coordinator] + children {
      let limits = try FileIO.contents(of: "/proc/\(process)/limits", upTo: 1 << 16)
      let line = String(decoding: limits, as: UTF8.self).split(separator: "\n")
        .first { $0.hasPrefix("Max core file size") }
      #expect(line?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
      // The kernel gives root what a process that cannot be dumped has in /proc (proc(5)).
      let owner = try FileManager.default.attributesOfItem(atPath: "/proc/\(process)/environ")
      #expect(owner[.ownerAccountID] as? Int == 0)
    }
    origin.origin.release("/held")
    #expect(try run.wait().exitCode == 0)
  }
}
