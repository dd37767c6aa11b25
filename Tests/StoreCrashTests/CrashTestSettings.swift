import ImgSystem

/// Environment variables that control the extent of the crash tests.
enum CrashTestSettings {
  /// The number of killed processes.
  static let killCount = number("IMGCTL_TEST_KILLS").map { Int($0) } ?? 40
  /// The seed of a failure replays it.
  static let seed = number("IMGCTL_TEST_SEED") ?? UInt64.random(in: 0..<1 << 32)
  /// Whether each failing call fails in every way, which takes minutes.
  static let isThorough = number("IMGCTL_TEST_THOROUGH") == 1

  private static func number(_ variable: String) -> UInt64? {
    ThisProcess.environment[variable].flatMap { UInt64($0) }
  }
}
