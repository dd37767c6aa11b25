import ImgClient
import Testing

struct ImagePlaybackTests {
  private let clock = ManualClock()

  private func animation(_ milliseconds: [Int], loopCount: Int? = 1) -> ImageAnimation {
    ImageAnimation(delays: milliseconds.map { .milliseconds($0) }, loopCount: loopCount)
  }

  /// Lets time pass once the reader sleeps.
  private func pass(_ milliseconds: Int) async throws {
    #expect(try await eventually { clock.sleeperCount == 1 })
    clock.advance(by: .milliseconds(milliseconds))
  }

  @Test func `frames are shown for as long as they say, as often as they say`() async throws {
    let playback = animation([100, 50], loopCount: 2).playback(on: clock)
    let clock = clock
    let reader = Task {
      var shown: [String] = []
      for await frame in playback {
        shown.append("\(frame) at \(clock.now.time / .milliseconds(1))")
      }
      return shown
    }
    for time in [100, 50, 100, 50] { try await pass(time) }
    let shown = await reader.value
    #expect(shown == ["0 at 0.0", "1 at 100.0", "0 at 150.0", "1 at 250.0"])
  }

  @Test func `a slow reader misses frames, and keeps the time`() async throws {
    var iterator = animation([100, 100, 100, 100]).playback(on: clock).makeAsyncIterator()
    let first = await iterator.next(isolation: nil)
    clock.advance(by: .milliseconds(250))
    let second = await iterator.next(isolation: nil)
    clock.advance(by: .milliseconds(50))
    let third = await iterator.next(isolation: nil)
    clock.advance(by: .milliseconds(500))
    let end = await iterator.next(isolation: nil)
    #expect([first, second, third, end] == [0, 2, 3, nil])
  }

  @Test func `a reader that is late by more than a pass goes on where it was`() async throws {
    var iterator = animation([100, 100], loopCount: nil).playback(on: clock).makeAsyncIterator()
    let first = await iterator.next(isolation: nil)
    clock.advance(by: .seconds(1_000_000))
    let second = await iterator.next(isolation: nil)
    clock.advance(by: .milliseconds(100))
    let third = await iterator.next(isolation: nil)
    #expect([first, second, third] == [0, 1, 0])
  }

  @Test func `an animation without end goes on until its reader is cancelled`() async throws {
    let playback = animation([20], loopCount: nil).playback(on: clock)
    let reader = Task {
      var count = 0
      for await _ in playback { count += 1 }
      return count
    }
    for _ in 0..<99 { try await pass(20) }
    #expect(try await eventually { clock.sleeperCount == 1 })
    reader.cancel()
    let count = await reader.value
    #expect(count == 100)
  }

  @Test func `an animation without frames ends at once`() async {
    var iterator = animation([]).playback(on: clock).makeAsyncIterator()
    let first = await iterator.next(isolation: nil)
    #expect(first == nil)
  }

  @Test func `each iteration plays from the start, by the clock of the machine as well`() async {
    let playback = animation([11, 11]).playback()
    for _ in 0..<2 {
      var frames: Set<Int> = []
      for await frame in playback { frames.insert(frame) }
      #expect(frames.contains(0))
    }
  }
}
