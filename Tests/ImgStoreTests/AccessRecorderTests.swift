import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// What each read records; `SecondChanceTests` has the effect of access bits on eviction.
@Suite(.timeLimit(.minutes(20)))
struct AccessRecorderTests {
  private let directory: TestDirectory
  private let bits: AccessBits
  private let recorder: AccessRecorder

  init() throws {
    directory = try TestDirectory()
    bits = try #require(AccessBits.openOrCreate(directory: directory.path, budgetByteCount: 1))
    recorder = AccessRecorder(bits)
  }

  private func counted() -> [UInt64] { [bits.counters.hits, bits.counters.misses] }

  @Test(
    arguments: [
      (.hitsAndMisses, true, [1, 0]), (.hitsAndMisses, false, [0, 1]), (.hits, true, [1, 0]),
      (.hits, false, [0, 0]), (.none, true, [0, 0]), (.none, false, [0, 0]),
    ] as [(AccessRecording, Bool, [UInt64])])
  func `a read counts as its recording says, and sets the bit of a counted hit`(
    recording: AccessRecording, isHit: Bool, counts: [UInt64]
  ) throws {
    let key = try ContentKey(picture: 1)
    recorder.record(key, isHit: isHit, recording)
    #expect(counted() == counts)
    #expect(bits.isSet(for: key) == (counts[0] == 1))
  }

  @Test func `look-ups set the bits of their hits, and count everything else as a miss`() throws {
    let keys = try (1...3).map { try ContentKey(picture: $0) }
    let found = StoredThumbnail(
      key: keys[1], url: "https://example.org/2.jpg",
      thumbnail: Thumbnail(format: .jpeg, width: 4, height: 3, byteCount: 9), storedAt: .now,
      expiresAt: .now(plusSeconds: 60), lifetime: .zero, sourceFormat: .png, sourceWidth: 40,
      sourceHeight: 30, decodePath: .general, thumbHash: nil, sourceByteCount: 900, terms: .none)
    recorder.record(keys, [.miss, .hit(found), .stale(.expired)])
    #expect(counted() == [1, 2])
    #expect(keys.map { bits.isSet(for: $0) } == [false, true, false])
  }

  @Test func `without a file of access bits nothing is recorded`() throws {
    let key = try ContentKey(picture: 1)
    let recorder = AccessRecorder(nil)
    recorder.record(key, isHit: true, .hitsAndMisses)
    recorder.record([key], [.miss])
    #expect(counted() == [0, 0])
    #expect(!bits.isSet(for: key))
  }
}
