/// What one question about a list may examine, so that its time is limited.
struct SearchBudget {
  /// Lines or records. A long URL counts as several.
  private var restCount: Int

  private static let byteCountOfOne = 256

  init(count: Int = 10_000) {
    restCount = count
  }

  var isSpent: Bool { restCount <= 0 }

  /// - Parameters:
  ///   - count: lines or records that were read or passed over.
  ///   - urls: those that were compared.
  mutating func spend(_ count: Int, comparing urls: some Sequence<String>) {
    restCount -= max(1, count)
    restCount -= urls.reduce(0) { $0 + $1.utf8.count / Self.byteCountOfOne }
  }
}
