import ImgSystem

/// What a store may occupy.
package struct StoreBudget: Hashable, Sendable {
  /// What the settings say.
  package let configuredByteCount: Int64
  /// What the disk has room for; above the configured budget when the disk does not limit it.
  package let diskByteCount: Int64

  /// The store leaves this share of its disk free, for the journal and for other programs.
  private static let marginDivisor: Int64 = 16
  private static let mostMarginByteCount: Int64 = 64 << 20

  /// - Parameters:
  ///   - fileByteCount: the length of the data file.
  ///   - disk: the file system of the data file; `nil` when it is not known.
  init(configuredByteCount: Int64, fileByteCount: Int, disk: DiskSpace?) {
    self.configuredByteCount = configuredByteCount
    guard let disk else {
      diskByteCount = .max
      return
    }
    let margin = min(disk.byteCount / Self.marginDivisor, Self.mostMarginByteCount)
    let available = max(0, Int64(fileByteCount) + disk.freeByteCount - margin)
    // The file is up to a quarter larger than what it holds, see `ThumbnailStore`.
    diskByteCount = available / 5 * 4
  }

  package var effectiveByteCount: Int64 { min(configuredByteCount, diskByteCount) }

  /// Whether the disk has less room than the settings allow.
  package var isLimitedByDisk: Bool { diskByteCount < configuredByteCount }
}
