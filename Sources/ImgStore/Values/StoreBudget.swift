package import ImgSystem

/// The maximum size of a store.
package struct StoreBudget: Hashable, Sendable {
  /// The budget of the settings.
  package let configuredByteCount: Int64
  /// The limit of the disk; above the configured budget if the disk has enough space.
  package let diskByteCount: Int64

  /// The store leaves this share of its disk free, for the journal and for other programs.
  private static let marginDivisor: Int64 = 16
  private static let mostMarginByteCount: Int64 = 64 << 20

  /// - Parameters:
  ///   - fileByteCount: the length of the data file.
  ///   - disk: the file system of the data file; `nil` if unknown.
  init(configuredByteCount: Int64, fileByteCount: Int, disk: DiskSpace?) {
    self.configuredByteCount = configuredByteCount
    guard let disk else {
      diskByteCount = .max
      return
    }
    let margin = min(disk.byteCount / Self.marginDivisor, Self.mostMarginByteCount)
    let available = max(0, Int64(fileByteCount) + disk.freeByteCount - margin)
    // The file is up to a quarter larger than its content, see `ThumbnailStore`.
    diskByteCount = available / 5 * 4
  }

  /// What a store has of its disk, or could have: the free space and its file.
  ///
  /// - Parameters:
  ///   - directory: of the store, which may not exist yet.
  ///   - parent: the directory that contains it.
  package static func availableByteCount(
    for directory: String, in parent: String
  ) throws(SystemError) -> Int64 {
    let place = try FileIO.open(naming: parent)
    let disk = try DiskSpace(of: place.rawValue)
    let fileByteCount = EnvironmentFiles(in: directory).dataByteCount
    return disk.freeByteCount.addingReportingOverflow(Int64(fileByteCount)).partialValue
  }

  package var effectiveByteCount: Int64 { min(configuredByteCount, diskByteCount) }

  /// Whether the disk has less space than the settings allow.
  package var isLimitedByDisk: Bool { diskByteCount < configuredByteCount }
}
