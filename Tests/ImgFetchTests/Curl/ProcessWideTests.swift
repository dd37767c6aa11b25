import Glibc
import ImgFetch
import TestOrigin
import Testing

/// What concerns a whole process is tested in a process of its own.
@Suite(.timeLimit(.minutes(20))) struct ProcessWideTests {
  @Test func `a proxy named in the environment is not used`() async {
    await #expect(processExitsWith: .success) {
      for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
        unsafe setenv(name, "http://127.0.0.1:1", 1)
      }
      let origin = try TestOrigin()
      origin.serve("/a", .body([7]))
      #expect(try Fetcher().fetch(origin.baseURL + "/a").body?.bytes == [7])
    }
  }

  @Test func `a pool that ends in the middle of transfers leaves no descriptor open`() async {
    await #expect(processExitsWith: .success) {
      // What is opened once and stays is open after the first round.
      try abandonTransfer()
      let before = try openDescriptorCount()
      for _ in 0..<3 { try abandonTransfer() }
      #expect(try openDescriptorCount() == before)
    }
  }
}

/// Leaves a pool with an idle connection and one in the middle of a transfer.
private func abandonTransfer() throws {
  let origin = try TestOrigin()
  origin.serve("/a", .body([7]))
  origin.serve("/stalled", .body([7, 7], delivery: .stall(after: 1)))
  let fetcher = try Fetcher()
  _ = try fetcher.fetch([origin.baseURL + "/a", origin.baseURL + "/a"])
  _ = try fetcher.start(origin.baseURL + "/stalled")
  try fetcher.run { origin.totals().inFlight == 1 }
}

private func openDescriptorCount() throws -> Int {
  let directory = unsafe try #require(opendir("/proc/self/fd"))
  defer { unsafe closedir(directory) }
  var count = 0
  while unsafe readdir(directory) != nil { count += 1 }
  return count
}
