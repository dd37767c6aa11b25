import FoundationEssentials
import Glibc
import ImgClient
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
import TestOrigin
import TestPictures
import Testing

/// `imgctl export`: a manifest is the proof of its files, which neither loses.
@Suite(.timeLimit(.minutes(20))) struct ExportTests {
  private let cluster: Cluster
  private let origin = ListOrigin()

  init() throws {
    cluster = try Cluster()
  }

  @Test func `an export writes one file for each thumbnail and a manifest of all lines`() throws {
    let list = origin.mixedList(20)
    let job = try cluster.run(list.lines).job
    let directory = cluster.directory.file("out")
    let result = try cluster.imgctl("export", "\(job)", directory)
    #expect(result.exitCode == 0)
    #expect(
      result.messages
        == "exported \(list.doneCount) thumbnails to \(directory); manifest.jsonl lists all\n"
        + "\(list.failures.count) failed: imgctl failures \(job), or \(directory)/failures.csv\n")
  }

  @Test func `an export replaces links and refuses pipes, and leaves what they lead to`() throws {
    let job = try cluster.run(origin.pictures(1)).job
    let directory = cluster.directory.file("out")
    try Directory.create(directory)
    let victim = try cluster.directory.write([1, 2, 3], to: "victim")
    for name in ["manifest.jsonl", "0000000.jpg"] {
      #expect(unsafe symlink(victim, "\(directory)/\(name)") == 0)
    }
    #expect(try cluster.imgctl("export", "\(job)", directory).exitCode == 0)
    #expect(try FileIO.contents(of: victim, upTo: 8) == [1, 2, 3])
    #expect(try FileStatus(at: "\(directory)/0000000.jpg").isRegularFile)

    for name in ["manifest.jsonl", "0000000.jpg"] {
      let other = cluster.directory.file("out-\(name)")
      try Directory.create(other)
      let pipe = try NamedPipe(path: "\(other)/\(name)")
      let refused = try cluster.imgctl("export", "\(job)", other)
      #expect(refused.exitCode == 2)
      #expect(refused.messages.contains("replace \(pipe.path), which is not a regular file"))
    }
  }

  @Test func `an export trusts the intact files that its manifest names, and fetches the others`()
    throws
  {
    let list = try cluster.list(origin.pictures(3))
    _ = try cluster.imgctl("submit", "--wait", list)
    let directory = cluster.directory.file("out")
    _ = try cluster.imgctl("export", "1", directory)
    let manifest = try manifestLines(in: directory)
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    #expect(unsafe unlink("\(directory)/0000001.jpg") == 0)
    try overwrite("\(directory)/0000002.jpg")
    let without = try cluster.imgctl("export", "1", directory)
    #expect(without.exitCode == 1)
    #expect(
      without.messages == """
        1 thumbnail in \(directory), not a new one; manifest.jsonl lists all
        1 file of an earlier export stayed
        1 file differs from the recorded SHA-256 and stays, because the store no longer has the exported bytes: \
        0000002.jpg
        2 thumbnails no longer stored, and 1 of their files had been removed: 0000001.jpg; to fetch them again: \
        imgctl export 1 \(directory) --fetch

        """)
    let kept = try manifestLines(in: directory)
    #expect(kept[0] == manifest[0], "with its hash and dates")
    for (line, status) in [(1, "file_missing"), (2, "file_changed")] {
      let proof = try record(kept[line])
      #expect(
        [proof.sha256, proof.stored_at] == [
          try record(manifest[line]).sha256, try record(manifest[line]).stored_at,
        ])
      #expect([proof.status, proof.reason] == [.string(status), "not_in_store"])
    }
    let requests = origin.origin.totals().requests
    for (exported, present) in [(2, 1), (0, 3)] {
      let fetched = try cluster.imgctl("export", "1", directory, "--fetch", "--json")
      #expect(fetched.exitCode == 0)
      #expect(
        fetched.output
          == "{\"changed\":0,\"damaged_lines\":0,\"differing\":0,\"exported\":\(exported),\"lost\":0,\"misrecorded\":0,\"missing\":0,\"new\":0,"
          + "\"not_in_store\":0,\"not_made\":0,\"occupied\":0,\"present\":\(present),"
          + "\"repaired\":\(present == 1 ? 1 : 0),"
          + "\"replaced\":0,\"restored\":\(present == 1 ? 1 : 0),\"returned\":0,\"schema\":1,"
          + "\"stored_after_job\":0,\"unchecked\":0,\"written\":\(exported)}\n")
      #expect(origin.origin.totals().requests == requests + 2)
      #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    }
    #expect(try manifestLines(in: directory).allSatisfy { $0.contains(#""sha256":""#) })
    let jobs = try cluster.imgctl("list", "--json")
    #expect(jobs.lines.count == 1, "the job that made them is removed")
  }

  @Test
  func `an export goes on where one ended early, and keeps the lines that it has not reached`()
    throws
  {
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(origin.pictures(3)))
    let directory = cluster.directory.file("out")
    try Directory.create(directory)
    let partial = "\(directory)/manifest.partial.jsonl"
    func expectEarlyEnd(at line: Int) throws -> [Substring] {
      let path = "\(directory)/000000\(line).jpg"
      let isWritten = unsafe rename(path, path + ".aside") == 0
      let pipe = try NamedPipe(path: path)
      #expect(try cluster.imgctl("export", "1", directory).exitCode == 2)
      #expect(unsafe unlink(pipe.path) == 0)
      if isWritten { #expect(unsafe rename(path + ".aside", path) == 0) }
      return try String(contentsOfFile: partial, encoding: .utf8).split(separator: "\n").sorted()
    }
    let lines = try expectEarlyEnd(at: 2)
    #expect(lines.count == 2)
    // The members of a line begin with dates, so their order is that in which the pictures were stored.
    let second = try #require(lines.first { $0.contains(#""file":"0000001.jpg""#) })
    try "\(second)\n".write(toFile: partial, atomically: false, encoding: .utf8)
    #expect(try expectEarlyEnd(at: 1) == lines, "with what only the earlier one had")
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    func exported(_ arguments: String...) throws -> [JSONValue] {
      let result = try cluster.json(["export"] + arguments)
      return [result.exported, result.present, result.not_in_store]
    }
    #expect(try exported("1", directory, "--fetch") == [1, 2, 0])
    #expect(!FileIO.isFile(partial))
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    #expect(try exported("1", directory) == [0, 3, 0])
  }

  @Test func `an export that ends because the disk is full leaves the manifest of an earlier one`()
    throws
  {
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(origin.pictures(2)))
    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    let lines = try manifestLines(in: directory)
    let partial = "\(directory)/manifest.partial.jsonl"
    let spaces = String(repeating: " ", count: 200_000)
    let earlier = "\(lines[0])\n{\(spaces)\(lines[1].dropFirst())\n"
    try earlier.write(toFile: partial, atomically: false, encoding: .utf8)
    let export = try cluster.begin(["export", "1", directory], fileKibibytes: 128).wait()
    #expect(export.exitCode == 2)
    #expect(export.messages.contains("write \(partial): "), "\(export.messages)")
    #expect(try String(contentsOfFile: partial, encoding: .utf8) == earlier)
  }

  @Test func `an export reports how many thumbnails have expired or were evicted since`() throws {
    let list = try cluster.list(origin.pictures(3) + ["no URL"])
    let submit = try cluster.imgctl("submit", "--wait", "--expire-after", "1ms", list)
    #expect(submit.output == "1\n")
    let directory = cluster.directory.file("out")
    // What expires within a millisecond has expired before another program runs.
    let result = try cluster.imgctl("export", "1", directory)
    #expect(result.exitCode == 1)
    #expect(
      result.messages == """
        exported 0 thumbnails to \(directory); manifest.jsonl lists all
        3 thumbnails no longer stored; to fetch them again: imgctl export 1 \(directory) --fetch
        1 failed: imgctl failures 1, or \(directory)/failures.csv

        """)
    let told = try cluster.imgctl("export", "1", directory, "--json")
    #expect(
      told.output
        == "{\"changed\":0,\"damaged_lines\":0,\"differing\":0,\"exported\":0,\"lost\":0,\"misrecorded\":0,\"missing\":4,\"new\":0,\"not_in_store\":3,"
        + "\"not_made\":0,\"occupied\":0,\"present\":0,\"repaired\":0,\"replaced\":0,\"restored\":0,"
        + "\"returned\":0,\"schema\":1,\"stored_after_job\":0,\"unchecked\":0,\"written\":0}\n"
    )
    #expect(told.messages.isEmpty)
  }

  /// A job that stores one picture as its origin sends it, and its export.
  private func archive(of bytes: [UInt8]) throws -> (url: String, directory: String) {
    origin.origin.serve("/a", .body(bytes))
    let url = origin.url("/a")
    let submit = try cluster.imgctl(
      "submit", "--wait", "--keep", "original", "--size", "600", try cluster.list([url]))
    #expect(submit.messages.contains("--size has no effect: --keep original stores no thumbnails"))
    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    return (url, directory)
  }

  @Test
  func `a file of an earlier export stays when the store has another picture, and that is told`()
    throws
  {
    let maker = try PictureMaker.start()
    let (first, second) = try (
      maker.card(index: 1, width: 64, height: 48), maker.card(index: 2, width: 64, height: 48)
    )
    let (url, directory) = try archive(of: first)
    let file = "\(directory)/0000000.jpg"
    let proof = try record(manifestLines(in: directory)[0])
    // Confirmed by the origin, the file keeps the time of its fetch.
    #expect(
      try cluster.finished(cluster.submit([url], "--keep", "original", "--cache-policy", "reload"))
        .done == 1)
    #expect(try cluster.imgctl("export", "1", directory).exitCode == 0)
    let confirmed = try record(manifestLines(in: directory)[0])
    #expect(confirmed.stored_at == proof.stored_at)
    #expect(confirmed.confirmed_at.string.map { $0 > proof.stored_at.string ?? "" } == true)

    origin.origin.serve("/a", .body(second))
    #expect(
      try cluster.finished(cluster.submit([url], "--keep", "original", "--cache-policy", "reload"))
        .done == 1)
    let again = try cluster.imgctl("export", "1", directory)
    #expect(again.exitCode == 0)
    #expect(
      again.messages == """
        1 original in \(directory), not a new one; manifest.jsonl lists all
        1 original in the store is not the exported one; the exported file stays: 0000000.jpg; to write what is \
        stored now: imgctl export 1 \(directory)-1

        """)
    #expect(try FileIO.contents(of: file, upTo: 1 << 20) == first)
    let kept = try record(manifestLines(in: directory)[0])
    #expect([kept.sha256, kept.status] == [proof.sha256, "store_differs"])

    // In a directory of its own, nothing else tells that the job has fetched other bytes.
    let later = "\(directory)-1"
    let exported = try cluster.imgctl("export", "1", later)
    #expect(exported.exitCode == 1)
    #expect(
      exported.messages.contains(
        "1 original was stored after job 1 had its own, and may not be what it fetched: 0000000.jpg; manifest.jsonl has "
          + "stored_after_job\n"))
    #expect(try cluster.imgctl("export", "1", later, "--fetch").exitCode == 0)
    #expect(try record(manifestLines(in: later)[0]).stored_after_job == true)
    #expect(try cluster.json("export", "3", "\(directory)-3").stored_after_job == 0)

    let other = try cluster.imgctl("export", "3", directory)
    #expect(other.exitCode == 2)
    #expect(
      other.messages.contains(
        "\(directory)/manifest.jsonl is of job 1; a directory has the files of one job: imgctl export 3 \(directory)-3"
      ))
    #expect(try FileIO.contents(of: file, upTo: 1 << 20) == first)

    // A file that is gone is written as it is now, and its proof stays.
    #expect(unsafe unlink(file) == 0)
    let replaced = try cluster.imgctl("export", "1", directory)
    #expect(
      replaced.messages.contains("1 file had been removed and has other bytes now: 0000000.jpg"))
    #expect(try FileIO.contents(of: file, upTo: 1 << 20) == second)
    #expect(try record(manifestLines(in: directory)[0]).replaced_sha256 == proof.sha256)
  }

  @Test func `the manifest has the declared type, and the time of bytes that the origin confirms`()
    throws
  {
    let maker = try PictureMaker.start()
    let bytes = try maker.card(index: 1, width: 64, height: 48)
    origin.origin.serve(
      "/a", .resource(Resource(bytes, contentType: "image/x-card", entityTag: "\"1\"")))
    var proofs: [JSONValue] = []
    for _ in 1...2 {
      let job = try cluster.submit(
        [origin.url("/a")], "--keep", "original", "--cache-policy", "protocol")
      #expect(try cluster.finished(job).done == 1)
      let directory = cluster.directory.file("out-\(proofs.count)")
      let export = try cluster.imgctl("export", "1", directory)
      #expect(export.exitCode == 0, "\(export.messages)")
      proofs.append(try record(manifestLines(in: directory)[0]))
    }
    #expect(origin.origin.totals().requests == 2)
    #expect(proofs.map(\.content_type) == ["image/x-card", "image/x-card"])
    #expect(proofs[1].stored_at == proofs[0].stored_at)
    #expect(proofs.map { $0.confirmed_at == .null } == [true, false])
    #expect(proofs.map(\.stored_after_job) == [.null, .null])
  }

  @Test func `what another request has replaced before the end of the job is told`() throws {
    let maker = try PictureMaker.start()
    origin.origin.serve("/a", .body(try maker.card(index: 1, width: 64, height: 48)))
    origin.hold("/held")
    let job = try cluster.submit(
      [origin.url("/a"), origin.url("/held")], "--keep", "original")
    #expect(try eventually { try cluster.client().answer(.job(job)).done == 1 })
    origin.origin.serve("/a", .body(try maker.card(index: 2, width: 80, height: 48)))
    let other = try cluster.submit(
      [origin.url("/a")], "--keep", "original", "--cache-policy", "reload")
    #expect(try cluster.finished(other).done == 1)
    origin.origin.release("/held")
    #expect(try cluster.finished(job).done == 2)
    let directories = ["out", "other"].map(cluster.directory.file)
    #expect(try cluster.json("export", "\(job)", directories[0]).stored_after_job == 1)
    let lines = try manifestLines(in: directories[0]).map(record)
    #expect(lines.map(\.stored_after_job) == [true, .null])
    #expect(try cluster.json("export", "\(other)", directories[1]).stored_after_job == 0)
  }

  @Test func `commands for a copy of a data directory advise what the original can do`() throws {
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(origin.pictures(1) + ["no URL"]))
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    #expect(try cluster.imgctl("stop").exitCode == 0)
    let copy = cluster.directory.file("copy")
    try FileManager.default.copyItem(atPath: cluster.dataDirectory, toPath: copy)
    let directory = cluster.directory.file("out")
    let export = try cluster.imgctl("export", "1", directory, "--data-dir", copy)
    #expect(
      export.messages.contains(
        "1 thumbnail no longer stored; to fetch it again: imgctl --data-dir \(cluster.dataDirectory) export 1 "
          + "\(directory) --fetch\n"), "\(export.messages)")
    let status = try cluster.imgctl("status", "1", "--data-dir", copy)
    #expect(
      status.messages.hasSuffix(
        "list the failures: imgctl --data-dir \(cluster.dataDirectory) failures 1\n"),
      "\(status.messages)")
  }

  @Test func `a file that differs from its SHA-256 is told; only the same picture replaces it`()
    throws
  {
    let maker = try PictureMaker.start()
    let (url, directory) = try archive(of: maker.card(index: 1, width: 64, height: 48))
    let proof = try record(manifestLines(in: directory)[0])
    try overwrite("\(directory)/0000000.jpg")
    let repaired = try cluster.imgctl("export", "1", directory)
    #expect(repaired.exitCode == 0)
    #expect(
      repaired.messages.contains(
        "1 file differed from the recorded SHA-256; written again: 0000000.jpg\n"))
    #expect(repaired.messages.contains("1 original in \(directory), not a new one;"))
    #expect(unsafe unlink("\(directory)/0000000.jpg") == 0)
    #expect(
      try cluster.imgctl("export", "1", directory).messages.contains(
        "1 file had been removed; written again: 0000000.jpg\n"))

    try overwrite("\(directory)/0000000.jpg")
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    origin.origin.serve("/a", .body(try maker.card(index: 2, width: 64, height: 48)))
    let fetched = try cluster.imgctl("export", "1", directory, "--fetch")
    #expect(fetched.exitCode == 1)
    #expect(
      fetched.messages.contains(
        "1 file differs from the recorded SHA-256 and stays, because the store has other bytes than were exported: "
          + "0000000.jpg; to write what is stored now: imgctl export 1 \(directory)-1\n"))
    let kept = try record(manifestLines(in: directory)[0])
    #expect(
      [kept.sha256, kept.status, kept.reason] == [proof.sha256, "file_changed", "store_differs"])

    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    origin.origin.serve("/a", .status(404))
    let unmade = try cluster.imgctl("export", "1", directory, "--fetch")
    #expect(unmade.messages.contains("1 original could not be made again: \(url) (http_status: "))
    let failures = try String(contentsOfFile: "\(directory)/failures.csv", encoding: .utf8)
    #expect(failures.contains(",http_status,404,") && failures.contains(url))
    let attempt = try record(manifestLines(in: directory)[0])
    #expect([attempt.reason, attempt.http_status] == ["http_status", 404])
    #expect(attempt.tried_at.string != nil)

    // Without another attempt, the next export says the same.
    let again = try cluster.imgctl("export", "1", directory)
    #expect(
      again.messages.contains("; to try again: imgctl export 1 \(directory) --fetch\n"),
      "\(again.messages)")
    #expect(again.messages.contains("\(directory)/failures.csv has all failures\n"))
    #expect(try record(manifestLines(in: directory)[0]) == attempt)
    #expect(
      try String(contentsOfFile: "\(directory)/failures.csv", encoding: .utf8) == failures)
    #expect(try record(manifestLines(in: directory)[0]).sha256 == proof.sha256)
  }

  @Test func `an export of a job that has not ended says how the job goes on`() throws {
    origin.hold("/p/0")
    let job = try cluster.submit(origin.pictures(1))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let directory = cluster.directory.file("out")
    let end = "\nthe job has not ended: 1 URL left"
    let next = "; to export the rest: imgctl wait \(job), then imgctl export \(job) \(directory)\n"
    #expect(try cluster.imgctl("export", "\(job)", directory).messages.hasSuffix(end + next))
    try cluster.killCoordinator()
    #expect(
      try cluster.imgctl("export", "\(job)", directory).messages.hasSuffix(
        "\(end); imgctl start continues it\n"))
  }

  @Test func `a file of no export is not replaced`() throws {
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(origin.pictures(2)))
    let directory = cluster.directory.file("out")
    try Directory.create(directory)
    try FileIO.replaceRegular(path: "\(directory)/0000001.jpg", with: [1, 2, 3])
    let export = try cluster.imgctl("export", "1", directory)
    #expect(export.exitCode == 1)
    #expect(
      export.messages.contains(
        "1 file in \(directory) is of no export and stays: 0000001.jpg; to write the thumbnails: "
          + "imgctl export 1 \(directory)-1\n"))
    #expect(try FileIO.contents(of: "\(directory)/0000001.jpg", upTo: 8) == [1, 2, 3])
    #expect(try record(manifestLines(in: directory)[1]).reason == "name_taken")

    for name in ["manifest.jsonl", "failures.csv"] {
      let other = cluster.directory.file("with-\(name)")
      try Directory.create(other)
      try FileIO.replaceRegular(path: "\(other)/\(name)", with: Array("a,b\n".utf8))
      let refused = try cluster.imgctl("export", "1", other)
      #expect(refused.exitCode == 2)
      #expect(refused.messages.contains("imgctl export 1 \(other)-1"), "\(refused.messages)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: other) == [name])
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
  func
    `an export that a signal ends leaves the lines of its files, and nothing else unless it is killed`(
      signal: CInt
    ) throws
  {
    _ = try cluster.imgctl("submit", "--wait", try cluster.list(origin.pictures(3)))
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    origin.hold("/p/0")
    let directory = cluster.directory.file("out")
    let export = try cluster.begin(["export", "1", directory, "--fetch"])
    let files = ["0000001.jpg", "0000002.jpg"].map { "\(directory)/\($0)" }
    let partialPath = "\(directory)/manifest.partial.jsonl"
    func hasLines() -> Bool {
      let partial = try? String(contentsOfFile: partialPath, encoding: .utf8)
      return partial?.split(separator: "\n").count == files.count
    }
    // A signal that can be handled waits for the line of a file; SIGKILL may come between the two.
    try #require(
      try eventually {
        files.allSatisfy(FileIO.isFile) && (signal != SIGKILL || hasLines())
      })
    export.signal(signal)
    let end = try export.wait()
    #expect(end.exitCode == nil)
    if signal != SIGKILL {
      #expect(
        end.messages.hasSuffix("interrupted; to go on: imgctl export 1 \(directory) --fetch\n"))
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
          == ["0000001.jpg", "0000002.jpg", "manifest.partial.jsonl"])
      #expect(
        try cluster.imgctl("list", "--json").lines.count == 1, "the job of the export is removed")
    }
    let partial = try String(contentsOfFile: partialPath, encoding: .utf8)
    #expect(try Set(partial.split(separator: "\n").map { try record($0).index.int }) == [1, 2])

    // What an export has left that was killed.
    let stale = "\(directory)/.imgctl-abc1.tmp"
    try FileIO.replaceRegular(path: stale, with: [1])
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    origin.release(["/p/0"])
    let rest = try cluster.imgctl("export", "1", directory, "--fetch")
    #expect(rest.messages.contains("3 thumbnails in \(directory), 1 of them new; "))
    #expect(rest.messages.contains("2 files of an earlier export stayed\n"), "\(rest.messages)")
    #expect(
      rest.messages.contains(
        "removed job 2 of an earlier export to this directory that was killed\n")
        == (signal == SIGKILL), "\(rest.messages)")
    #expect(try cluster.imgctl("list", "--json").lines.count == 1)
    #expect(!FileIO.isFile(stale))
  }

  @Test func `what an export fetches again expires as what the job has made`() throws {
    let list = try cluster.list(origin.pictures(2))
    let options = ["--expire-after", "90d", "--expire-on-access", list]
    #expect(try cluster.begin(["submit", "--wait"] + options).wait().exitCode == 0)
    let lifetime = 90 * 86_400_000
    #expect(try cluster.json("status", "1").expire_after_ms.int == lifetime)
    #expect(try cluster.imgctl("cache", "reset").exitCode == 0)
    let directory = cluster.directory.file("out")
    #expect(try cluster.imgctl("export", "1", directory, "--fetch").exitCode == 0)
    let records = try cluster.imgctl("cache", "ls", "--json").lines
    #expect(try records.map { try record($0[...]).lifetime_ms.int } == [lifetime, lifetime])
  }
}
