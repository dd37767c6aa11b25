import ImgCommands
import ImgModel
import Testing

/// How much of a picture has arrived, for people.
struct DownloadTextTests {
  @Test(arguments: [
    (1, 5_000_000, "0 % of 4.8 MiB"), (2_499_999, 5_000_000, "49 % of 4.8 MiB"),
    (4_999_999, 5_000_000, "99 % of 4.8 MiB"), (5_000_000, 5_000_000, "100 % of 4.8 MiB"),
    (2_000, 2_000, "100 % of 2.0 KiB"), (Int.max, Int.max, "100 % of 8388608 TiB"),
  ])
  func `a download of a known length has a percentage, rounded down`(
    received: Int, expected: Int, text: String
  ) {
    let progress = BodyProgress(receivedByteCount: received, expectedByteCount: expected)
    #expect(HumanText.download(progress) == text)
  }

  @Test func `a download of unknown length has what has arrived`() {
    #expect(HumanText.download(BodyProgress(receivedByteCount: 655_360)) == "640 KiB")
    // No origin sends more than it declares.
    let empty = BodyProgress(receivedByteCount: 10, expectedByteCount: 0)
    #expect(HumanText.download(empty) == "10 B")
  }
}
