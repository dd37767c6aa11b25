import ImgClient
import Synchronization
import TestPictures
import Testing

struct ImageAnimationTests {
  private func image(_ bytes: [UInt8], _ format: ImageFormat) -> LoadedImage {
    LoadedImage(
      bytes: bytes, format: format, width: 1, height: 1, source: LoadedImage.sample.source,
      origin: .network)
  }

  /// A GIF of frames of one pixel.
  ///
  /// - Parameter delays: in hundredths of a second.
  private func gif(delays: [UInt8], repetitions: UInt8?) -> [UInt8] {
    let screen = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0] + [0, 0, 0, 255, 255, 255]
    let loop = repetitions.map { count in
      [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, count, 0, 0]
    }
    let frames = delays.flatMap { delay -> [UInt8] in
      [0x21, 0xF9, 4, 0, delay, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
    }
    return screen + (loop ?? []) + frames + [0x3B]
  }

  @Test func `delays are those that browsers play, and the count of passes is that of the file`() {
    let animation = image(gif(delays: [5, 1, 0, 2], repetitions: 2), .gif).animation
    #expect(animation?.delays == [50, 100, 100, 20].map { .milliseconds($0) })
    #expect(animation?.frameCount == 4)
    #expect(animation?.loopCount == 3)
    #expect(animation?.duration == .milliseconds(270))
    #expect(image(gif(delays: [5, 5], repetitions: 0), .gif).animation?.loopCount == nil)
    #expect(image(gif(delays: [5, 5], repetitions: nil), .gif).animation?.loopCount == 1)
  }

  @Test func `a still, and bytes that cannot be read, are no animation`() throws {
    #expect(image(gif(delays: [5], repetitions: nil), .gif).animation == nil)
    let whole = gif(delays: [5, 5], repetitions: nil)
    for count in 0..<whole.count {
      #expect(image(Array(whole.prefix(count)), .gif).animation == nil)
    }
    #expect(LoadedImage.sample.animation == nil)
    let still = try PictureMaker.start().card(index: 1, format: .webp)
    #expect(image(still, .webp).animation == nil)
  }

  @Test func `a WebP that is animated tells its frames`() throws {
    let bytes = try PictureMaker.start().animation(index: 1, frameCount: 4, format: .webp)
    let animation = image(bytes, .webp).animation
    #expect(animation?.frameCount == 4)
    #expect(animation?.delays.allSatisfy { $0 == .milliseconds(100) } == true)
  }

  @Test func `an animation made by hand plays at least once, and no frame in no time`() {
    let delays = [Duration.zero, .seconds(-1), .milliseconds(10), .microseconds(12_500)]
    #expect(
      ImageAnimation(delays: delays).delays == [
        .milliseconds(100), .milliseconds(100), .milliseconds(100), .microseconds(12_500),
      ])
    #expect(ImageAnimation(delays: [.seconds(1)], loopCount: 0).loopCount == 1)
    #expect(ImageAnimation(delays: [.seconds(1)]).loopCount == nil)
  }
}

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
    #expect(await reader.value == ["0 at 0.0", "1 at 100.0", "0 at 150.0", "1 at 250.0"])
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
    #expect(await reader.value == 100)
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

/// A clock whose time passes when a test says so.
final class ManualClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    let time: Duration

    func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
    func duration(to other: Instant) -> Duration { other.time - time }
    static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
  }

  private struct Sleeper {
    let number: Int
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Instant(time: .zero)
    var lastNumber = 0
    var sleepers: [Sleeper] = []
  }

  private let state = Mutex(State())

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .zero }
  var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let now = state.now
      defer { state.sleepers.removeAll { $0.deadline <= now } }
      return state.sleepers.filter { $0.deadline <= now }
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let end = state.withLock { state -> Result<Void, any Error>? in
          if Task.isCancelled { return .failure(CancellationError()) }
          if deadline <= state.now { return .success(()) }
          state.sleepers.append(
            Sleeper(number: number, deadline: deadline, continuation: continuation))
          return nil
        }
        if let end { continuation.resume(with: end) }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        state.sleepers.firstIndex { $0.number == number }.map { state.sleepers.remove(at: $0) }
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}
