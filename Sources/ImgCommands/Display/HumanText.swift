package import ImgModel

/// Formats quantities and names for people: rounded, with a unit.
package enum HumanText {
  /// Bytes in binary units, such as `1.4 MiB`.
  package static func size(_ byteCount: Int64) -> String {
    scaled(Double(byteCount), by: 1_024, units: ["B", "KiB", "MiB", "GiB", "TiB"])
  }

  /// A data rate in decimal units, as usual for networks, such as `1.3 MB/s`.
  package static func rate(bytesPerSecond: Double) -> String {
    scaled(bytesPerSecond, by: 1_000, units: ["B", "kB", "MB", "GB", "TB"]) + "/s"
  }

  /// A number with one decimal; none from 100 on, where it adds nothing.
  package static func number(_ value: Double) -> String {
    // Larger values have no exact tenths, and soon overflow Int.
    guard value.isFinite, abs(value) < 1e15 else { return "-" }
    let tenths = Int((abs(value) * 10).rounded())
    let sign = value < 0 && tenths > 0 ? "-" : ""
    if tenths >= 1_000 { return sign + String(Int(abs(value).rounded())) }
    return "\(sign)\(tenths / 10).\(tenths % 10)"
  }

  /// A count with a regular noun, such as `1 job` or `2 jobs`.
  package static func count(_ count: Int, of noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// A duration in its two largest units, such as `3m 12s` or `2d 4h`.
  package static func duration(_ duration: Duration) -> String {
    let milliseconds = duration.milliseconds
    if milliseconds < 1_000 { return "\(max(milliseconds, 0))ms" }
    let seconds = milliseconds / 1_000
    let parts = [
      (seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"),
      (seconds % 60, "s"),
    ]
    return parts.drop { $0.0 == 0 }.prefix(2).filter { $0.0 > 0 }.map { "\($0)\($1)" }
      .joined(separator: " ")
  }

  /// A duration to the millisecond, such as `40ms`, `3.96s` or `1m 3.5s`.
  package static func exactDuration(milliseconds: Int) -> String {
    guard milliseconds >= 1_000 else { return "\(max(milliseconds, 0))ms" }
    let (minutes, rest) = milliseconds.quotientAndRemainder(dividingBy: 60_000)
    var parts = [(minutes / 60, "h"), (minutes % 60, "m")].filter { $0.0 > 0 }
      .map { "\($0)\($1)" }
    if rest > 0 { parts.append("\(Thousandths(count: rest))s") }
    return parts.joined(separator: " ")
  }

  /// The age of `moment`, such as `3m 12s ago`.
  package static func age(of moment: WallTime, at now: WallTime) -> String {
    duration(moment.duration(to: now)) + " ago"
  }

  /// A duration like on a stopwatch, such as `0:11` or `1:02:03`.
  package static func stopwatch(seconds: Int64) -> String {
    func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
    let end = twoDigits(seconds % 60)
    return hours > 0 ? "\(hours):\(twoDigits(minutes)):\(end)" : "\(minutes):\(end)"
  }

  /// An untrusted text on one line, without what could control a terminal and without the passwords of
  /// URLs.
  package static func printable(_ text: String) -> String { text.withoutPasswords.printable }

  /// The URL or path of a picture, for a sentence. A long one, such as a `data:` URL, is truncated.
  package static func source(_ text: String) -> String {
    let shown = printable(text == "-" ? "standard input" : text)
    return shown.count > sourceLength ? String(shown.prefix(sourceLength)) + "…" : shown
  }

  private static let sourceLength = 200

  private static func scaled(_ value: Double, by factor: Double, units: [String]) -> String {
    var value = max(value, 0)
    var unit = 0
    // A value that rounds up to the factor becomes 1.0 of the next unit.
    while value.rounded() >= factor, unit + 1 < units.count {
      value /= factor
      unit += 1
    }
    return unit == 0 ? "\(Int(value.rounded())) B" : "\(number(value)) \(units[unit])"
  }
}
