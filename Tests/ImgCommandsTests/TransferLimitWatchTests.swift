import FoundationEssentials
import ImgCommands
import ImgModel
import Testing

/// What held a list back: the limit of transfers, its hosts, or the machine.
@Suite struct TransferLimitWatchTests {
  private func cluster(transfers: Int, decoding: Int, limit: Int = 64) -> ClusterStatus {
    var limits = Limits()
    limits.transfers = limit
    return ClusterStatus(
      state: .running, processID: 1, version: "0", startedAt: WallTime(rawValue: 0),
      socketPath: "/socket", dataDirectory: "/data",
      workers: (0..<2).map {
        .init(
          number: $0, processes: .init(worker: 1), state: .ready, lookingUp: 0, fetching: 0,
          decoding: $0 == 0 ? decoding : 0, deaths: 0)
      },
      transfers: transfers, activeJobs: 1, viewers: 0, lateAnswers: 0, discardedLate: 0,
      journalError: nil, storeError: nil, limits: limits,
      settings: CoordinatorSettings(
        workerExecutable: "/w", idleExit: nil, allowedNetworks: [], allowedDirectories: [],
        authorityFile: nil, requiresSandbox: false))
  }

  private func job(queued: Int) -> JobStatus {
    JobStatus(
      JobRecord(
        id: JobID(rawValue: 7), options: RequestOptions(variant: .standard),
        counts: JobCounts(total: queued), submittedAt: WallTime(rawValue: 0)))
  }

  private func note(
    transfers: Int = 64, decoding: Int = 1, queued: Int = 9, looks: Int = 5, limit: Int = 64
  ) -> String? {
    var watch = TransferLimitWatch()
    for _ in 0..<looks {
      watch.add(
        cluster(transfers: transfers, decoding: decoding, limit: limit), job(queued: queued))
    }
    return watch.note
  }

  @Test func `a list that waits for transfers while decoders idle is held back by their limit`() {
    let text =
      "the limit of 64 transfers held the list back, not this machine; more at once: imgctl limits "
      + "--transfers 128"
    #expect(note() == text)
    // The others are reserved for hosts that answer soon.
    #expect(note(transfers: 56) == text)
    #expect(note(transfers: 9_000, limit: 9_000)?.hasSuffix("--transfers 16384") == true)
  }

  @Test func `programs that follow the job are told, too`() throws {
    func json(limitNote: String?) throws -> String {
      let state = FollowedJob(job(queued: 9), limitNote: limitNote)
      return String(decoding: try JSONEncoder().encode(state), as: UTF8.self)
    }
    let told = try json(limitNote: note())
    #expect(told.contains(#""transfer_limit_note":"the limit of 64 transfers held"#), "\(told)")
    #expect(told.contains(#""queued":9"#))
    #expect(try !json(limitNote: nil).contains("transfer_limit_note"))
  }

  @Test func `a list that something else holds back is not`() {
    #expect(note(transfers: 55) == nil, "its hosts")
    #expect(note(decoding: 2) == nil, "the decoders")
    #expect(note(queued: 0) == nil, "its last lines are under way")
    #expect(note(looks: 4) == nil, "too short a list")
    #expect(note(transfers: 16_384, limit: 16_384) == nil, "no more can be set")
    var watch = TransferLimitWatch()
    for count in 0..<10 {
      watch.add(cluster(transfers: count < 5 ? 64 : 3, decoding: 0), job(queued: 9))
    }
    #expect(watch.note == nil, "half of the time")
  }
}
