import Glibc

/// A response without a body that the server sends itself, because libmicrohttpd may have no memory left for one. The
/// connection closes after it.
struct BareResponse {
  let bytes: [UInt8]

  /// - Parameters:
  ///   - reason: the reason phrase of the status.
  ///   - seconds: the time of `Date`, since 1970.
  init(_ status: HTTPStatus, reason: String, at seconds: Int) {
    let lines = [
      "HTTP/1.1 \(status.rawValue) \(reason)", "Date: \(Self.date(seconds))", "Connection: close",
      "Content-Length: 0", "", "",
    ]
    bytes = Array(lines.joined(separator: "\r\n").utf8)
  }

  /// A time in the form of RFC 9110, section 5.6.7.
  private static func date(_ seconds: Int) -> String {
    var seconds = seconds
    var time = unsafe tm()
    unsafe gmtime_r(&seconds, &time)
    let (day, month) = unsafe (days[Int(time.tm_wday)], months[Int(time.tm_mon)])
    let date = unsafe "\(day), \(twoDigits(time.tm_mday)) \(month) \(time.tm_year + 1900)"
    let clock = unsafe [time.tm_hour, time.tm_min, time.tm_sec].map(twoDigits)
    return "\(date) \(clock.joined(separator: ":")) GMT"
  }

  private static func twoDigits(_ number: CInt) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
