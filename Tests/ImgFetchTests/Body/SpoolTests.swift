import Glibc
import ImgFetch
import ImgModel
import ImgSystem
import TestOrigin
import Testing

/// Bodies that are too long for memory.
@Suite(.timeLimit(.minutes(20))) struct SpoolTests {
  private static let mebibyte = 1 << 20
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
  }

  @Test(arguments: [Delivery.whole, .chunked])
  func `a body of more than 4 MiB comes in byte for byte, in a file`(
    delivery: Delivery
  ) throws {
    let picture = noise(6 * Self.mebibyte)
    origin.serve("/a", .body(picture, delivery: delivery))
    let fetcher = try Fetcher()
    var peak = 0
    let transfer = try fetcher.fetch(origin.baseURL + "/a") {
      peak = max(peak, fetcher.pool.heldBodyByteCount)
    }
    let body = try #require(transfer.body)
    #expect(body.isInFile)
    #expect(body.holds(picture))
    #expect(transfer.bytesReceived == picture.count)
    #expect(fetcher.pool.heldBodyByteCount == 0)
    #expect(fetcher.pool.heldFileByteCount >= picture.count)
    // A declared length is known before there is anything to put into memory.
    #expect(peak <= (delivery == .whole ? 1 : 5) * Self.mebibyte)
    fetcher.pool.releaseBody(body.charge)
    #expect(fetcher.pool.heldFileByteCount == 0)
  }

  @Test(arguments: [Delivery.whole, .chunked])
  func `a body of 4 MiB stays in memory`(delivery: Delivery) throws {
    origin.serve("/a", .body(noise(4 * Self.mebibyte), delivery: delivery))
    let fetcher = try Fetcher()
    let body = try #require(fetcher.fetch(origin.baseURL + "/a").body)
    #expect(!body.isInFile)
    #expect(body.holds(noise(4 * Self.mebibyte)))
    #expect(fetcher.pool.heldFileByteCount == 0)
  }

  @Test func `where no file can be made, a long body stays in memory`() throws {
    origin.serve("/a", .body(noise(5 * Self.mebibyte)))
    let fetcher = try Fetcher(spoolDirectories: ["/proc", "/nowhere"])
    let body = try #require(fetcher.fetch(origin.baseURL + "/a").body)
    #expect(!body.isInFile)
    #expect(body.holds(noise(5 * Self.mebibyte)))
    fetcher.pool.releaseBody(body.charge)
    #expect(fetcher.pool.heldBodyByteCount == 0)
    #expect(fetcher.pool.heldFileByteCount == 0)
  }

  @Test func `the second directory serves where the first has no files`() throws {
    origin.serve("/a", .body(noise(5 * Self.mebibyte)))
    let fetcher = try Fetcher(spoolDirectories: ["/proc", "/tmp"])
    #expect(try fetcher.fetch(origin.baseURL + "/a").body?.isInFile == true)
  }

  @Test func `a long body whose first bytes are rejected gets no file`() throws {
    origin.serve("/a", .body(noise(5 * Self.mebibyte)))
    let refusal = Failure(stage: .decode, code: .notAnImage, detail: "refused")
    let fetcher = try Fetcher(
      earlyReject: EarlyReject(byteCount: 1_000) { head in
        head == noise(1_000) ? refusal : nil
      })
    var peak = 0
    let transfer = try fetcher.fetch(origin.baseURL + "/a") {
      peak = max(peak, fetcher.pool.heldFileByteCount)
    }
    #expect(transfer.failure == refusal)
    #expect(peak == 0)
  }

  @Test func `bodies that find no room in files wait until others are given back`() throws {
    let length = 5 * Self.mebibyte
    let picture = noise(length)
    let fetcher = try Fetcher { $0.maxBodyByteCount = Int64(length) }
    let ids = try (0..<10).map { number in
      origin.serve("/\(number)", .body(picture))
      return try fetcher.start("\(origin.baseURL)/\(number)")
    }
    var givenBack: Set<UInt64> = []
    var peak = 0
    try fetcher.run {
      peak = max(peak, fetcher.pool.heldFileByteCount)
      // Not at once, so that the others come to wait.
      guard fetcher.finished.count >= 5 else { return false }
      for (id, transfer) in fetcher.finished where givenBack.insert(id).inserted {
        if let body = transfer.body { fetcher.pool.releaseBody(body.charge) }
      }
      return fetcher.finished.count == ids.count
    }
    #expect(fetcher.finished.values.allSatisfy { $0.body?.bytes == picture })
    // Eight of the greatest length, and the one that may pass that.
    #expect(peak <= 9 * length)
    #expect(fetcher.pool.heldFileByteCount == 0)
  }

  @Test func `a transfer whose file cannot be written ends, and leaves nothing held`() async {
    await #expect(processExitsWith: .success) {
      ThisProcess.ignoreFileSizeSignal()
      var limit = rlimit(rlim_cur: 2 << 20, rlim_max: 2 << 20)
      #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      let origin = try TestOrigin()
      origin.serve("/a", .body(noise(5 << 20)))
      let fetcher = try Fetcher()
      let failure = try fetcher.fetch(origin.baseURL + "/a").failure
      #expect(failure?.code == .internal)
      #expect(failure?.isRetryable == true)
      #expect(fetcher.pool.heldBodyByteCount == 0)
      #expect(fetcher.pool.heldFileByteCount == 0)
    }
  }
}
