import ImgClient
package import ImgModel
import ImgSettings

/// Selects the thumbnails that `imgctl cache ls` lists: those that match every given option.
package struct CacheLsFilter: Hashable, Sendable {
  /// The host in lower case, without a port; `nil` for any host.
  private let host: String?
  /// In milliseconds.
  private let ages: Range<Int64>
  private let byteCounts: Range<Int64>
  /// `nil` for both.
  private let isExpired: Bool?

  private static let host = OptionDescription(
    "--host", "HOST", help: "Only from this host, on any port. Subdomains are other hosts.")
  private static let olderThan = OptionDescription(
    "--older-than", "DURATION", help: "Only if stored longer ago than this, such as 2d.")
  private static let newerThan = OptionDescription(
    "--newer-than", "DURATION", help: "Only if stored more recently than this.")
  private static let largerThan = OptionDescription(
    "--larger-than", "SIZE", help: "Only thumbnails with more bytes, such as 64K.")
  private static let smallerThan = OptionDescription(
    "--smaller-than", "SIZE", help: "Only thumbnails with fewer bytes.")
  private static let expired = OptionDescription(
    "--expired", help: "Only expired thumbnails that are not removed yet.")
  private static let fresh = OptionDescription(
    "--fresh", help: "Only thumbnails that have not expired.")

  static let options = [
    host, olderThan, newerThan, largerThan, smallerThan, expired, fresh,
  ]

  init(_ arguments: ArgumentReader) throws(UsageError) {
    host = try arguments.value(of: Self.host, HostText.host(parsing:))
    ages = try Self.range(arguments, over: Self.olderThan, under: Self.newerThan, in: .duration)
    byteCounts = try Self.range(
      arguments, over: Self.largerThan, under: Self.smallerThan, in: .size)
    let wantsExpired = arguments.contains(Self.expired)
    let wantsFresh = arguments.contains(Self.fresh)
    guard !(wantsExpired && wantsFresh) else {
      throw UsageError("--expired and --fresh exclude each other")
    }
    isExpired = wantsExpired ? true : wantsFresh ? false : nil
  }

  func admits(_ record: StoredRecord, at now: WallTime) -> Bool {
    admits(
      url: record.url, byteCount: Int64(record.thumbnail.byteCount), storedAt: record.storedAt,
      expiresAt: record.expiresAt, at: now)
  }

  package func admits(
    url: String, byteCount: Int64, storedAt: WallTime, expiresAt: WallTime, at now: WallTime
  ) -> Bool {
    guard ages.contains(storedAt.duration(to: now).milliseconds),
      byteCounts.contains(byteCount), isExpired == nil || isExpired == (expiresAt <= now)
    else { return false }
    guard let host else { return true }
    // A text that is not a URL has no host: a `--cache-key`, or that of a damaged record.
    return (try? ImageURL(parsing: url))?.host == host
  }

  /// The values between two limits, without the limits.
  private static func range(
    _ arguments: ArgumentReader, over: OptionDescription, under: OptionDescription,
    in scale: UnitScale
  ) throws(UsageError) -> Range<Int64> {
    let read = { (text: String) throws(InvalidValue) in
      try scale.value(parsing: text, in: 0...(.max - 1))
    }
    let lower = try arguments.value(of: over, read)
    let upper = try arguments.value(of: under, read)
    guard let upper else { return (lower.map { $0 + 1 } ?? .min)..<(.max) }
    guard let lower else { return .min..<upper }
    guard lower + 1 < upper else {
      throw UsageError("no value lies between \(over.flag) and \(under.flag)")
    }
    return lower + 1..<upper
  }
}
