import ImgCommands
import ImgModel
import Testing

extension ProgressBar {
  init(_ status: JobStatus, at elapsed: Duration) {
    self.init(status, at: elapsed, wall: WallTime(rawValue: 0))
  }

  mutating func update(_ status: JobStatus, at elapsed: Duration) {
    update(status, at: elapsed, wall: WallTime(rawValue: 0))
  }
}

@Suite struct ProgressBarTests {
  private func status(
    done: Int, failed: Int = 0, fromCache: Int = 0, bytes: Int64 = 0, total: Int = 1_000,
    state: JobRecord.State = .queued, wait: Wait? = nil
  ) -> JobStatus {
    var counts = JobCounts(total: total)
    counts.done = done
    counts.failed = failed
    counts.fromCache = fromCache
    counts.bytesFetched = bytes
    return JobStatus(
      JobRecord(
        id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: state,
        counts: counts, submittedAt: WallTime(rawValue: 0), startedAt: WallTime(rawValue: 0)),
      wait: wait)
  }

  /// A bar that has seen 452 images and 13 MB in ten seconds.
  private var bar: ProgressBar {
    var bar = ProgressBar(status(done: 45), at: .seconds(5))
    bar.update(
      status(done: 494, failed: 3, fromCache: 12, bytes: 13_000_000), at: .seconds(15))
    return bar
  }

  @Test func `a wide terminal shows everything`() {
    #expect(
      bar.line(columns: 132)
        == "[###################---------------------]  49 %  497/1000  3 failed  0:12 left  "
        + "45.2 img/s  12 from cache  1.3 MB/s")
  }

  @Test func `facts are omitted if there is no room`() {
    #expect(
      bar.line(columns: 80)
        == "[######--------]  49 %  497/1000  3 failed  0:12 left  45.2 img/s  12 from cache")
    #expect(bar.line(columns: 40) == "[#####-------]  49 %  497/1000  3 failed")
    #expect(bar.line(columns: 18) == "[####------]  49 %")
    #expect(bar.line(columns: 10) == "49 %")
    #expect(bar.line(columns: 2) == "49")
    #expect(bar.line(columns: 0) == "")
  }

  @Test(arguments: 1...200)
  func `a line is never wider than the terminal`(columns: Int) {
    #expect(bar.line(columns: columns).count <= columns)
  }

  @Test func `a log has the same facts without the bar`() {
    #expect(
      bar.plainLine
        == "job 7: 497/1000, 49 %, 3 failed, 0:12 left, 45.2 img/s, 12 from cache, 1.3 MB/s")
  }

  @Test func `the first line has no rate and no remaining time`() {
    #expect(ProgressBar(status(done: 0), at: .zero).plainLine == "job 7: 0/1000, 0 %")
  }

  @Test func `only the end is 100 percent`() {
    #expect(
      ProgressBar(status(done: 999), at: .zero).plainLine == "job 7: 999/1000, 99 %")
    var bar = bar
    bar.update(status(done: 997, failed: 3, state: .finished), at: .seconds(20))
    #expect(bar.plainLine == "job 7: 1000/1000, 100 %, 3 failed")
  }

  @Test func `an empty job is complete`() {
    #expect(
      ProgressBar(status(done: 0, total: 0), at: .zero).line(columns: 30)
        == "[################]  100 %  0/0")
  }

  private static let failing = Wait(
    .hostFailing, host: "example.org", httpStatus: 503, until: WallTime(rawValue: 42_000))

  @Test func `a waiting job shows the reason instead of its rates`() {
    var bar = bar
    bar.update(status(done: 494, failed: 3, wait: Self.failing), at: .seconds(18))
    let reason = "waiting: example.org answered 503, next attempt in 0:42"
    #expect(bar.plainLine == "job 7: 497/1000, 49 %, 3 failed, \(reason)")
    #expect(
      bar.line(columns: 132)
        == "[###################---------------------]  49 %  497/1000  3 failed  \(reason)")
    // The reason is worth more than the bar.
    #expect(bar.line(columns: 85) == "49 %  497/1000  3 failed  \(reason)")
    #expect(bar.line(columns: 40) == String("49 %  497/1000  3 failed  \(reason)".prefix(40)))
    bar.update(
      status(done: 494, wait: Self.failing), at: .seconds(19), wall: WallTime(rawValue: 1_000))
    #expect(bar.plainLine.hasSuffix("next attempt in 0:41"))
  }

  @Test func `a job without progress has no remaining time`() {
    var bar = ProgressBar(status(done: 10), at: .zero)
    bar.update(status(done: 10), at: .seconds(30))
    #expect(bar.plainLine == "job 7: 10/1000, 1 %, 0.0 img/s, 0 B/s")
  }
}

@Suite struct RecentRatesTests {
  @Test func `old samples do not count`() {
    var rates = RecentRates()
    rates.add(at: .zero, images: 0, bytes: 0)
    rates.add(at: .seconds(100), images: 100_000, bytes: 0)
    for second in 101...120 {
      rates.add(at: .seconds(second), images: 100_000 + (second - 100) * 5, bytes: 0)
    }
    #expect(rates.imagesPerSecond == 5)
  }

  @Test func `many samples in a moment are one`() {
    var rates = RecentRates()
    for millisecond in 0...20_000 {
      rates.add(at: .milliseconds(millisecond), images: millisecond, bytes: Int64(millisecond) * 2)
    }
    #expect(rates.imagesPerSecond == 1_000)
    #expect(rates.bytesPerSecond == 2_000)
  }

  @Test func `a rate needs half a second of samples`() {
    var rates = RecentRates()
    rates.add(at: .zero, images: 0, bytes: 0)
    rates.add(at: .milliseconds(499), images: 100, bytes: 0)
    #expect(rates.imagesPerSecond == nil)
    rates.add(at: .milliseconds(500), images: 100, bytes: 0)
    #expect(rates.imagesPerSecond == 200)
  }
}

@Suite struct RedrawnLineTests {
  @Test func `a text replaces the previous one once`() {
    var line = RedrawnLine()
    #expect(line.draw("a") == "\r\u{1B}[Ka")
    #expect(line.draw("a") == "")
    #expect(line.draw("b") == "\r\u{1B}[Kb")
    #expect(line.erase() == "\r\u{1B}[K")
    #expect(line.erase() == "")
    #expect(line.draw("b") == "\r\u{1B}[Kb")
    #expect(line.end() == "\n")
    #expect(line.end() == "")
  }
}
