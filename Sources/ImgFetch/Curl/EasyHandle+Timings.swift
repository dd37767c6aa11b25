internal import CCurl
internal import ImgModel

extension EasyHandle {
  /// What the parts of the transfer took. libcurl's clocks all begin with the transfer
  /// (curl_easy_getinfo(3), "TIMES"); they show 0 for what was not reached.
  var timings: Timings {
    func moment(_ info: CURLINFO) -> Int64 { max(number(info) ?? 0, 0) }
    let named = moment(CURLINFO_NAMELOOKUP_TIME_T)
    let connected = moment(CURLINFO_CONNECT_TIME_T)
    let secured = moment(CURLINFO_APPCONNECT_TIME_T)
    let answered = moment(CURLINFO_STARTTRANSFER_TIME_T)
    let ended = moment(CURLINFO_TOTAL_TIME_T)
    var timings = Timings()
    // Without a new connection these are the moments at which one was found.
    let isReused = answered > 0 && count(CURLINFO_NUM_CONNECTS) == 0
    if !isReused {
      timings.dns = Self.duration(from: 0, to: named)
      timings.connect = Self.duration(from: named, to: connected)
      timings.tls = Self.duration(from: connected, to: secured)
    }
    timings.ttfb = Self.duration(from: max(named, connected, secured), to: answered)
    if answered > 0 { timings.download = Self.duration(from: answered, to: ended) }
    return timings
  }

  /// - Parameters:
  ///   - begin: in microseconds.
  ///   - end: in microseconds, too.
  /// - Returns: `nil` for an end that was not reached.
  private static func duration(from begin: Int64, to end: Int64) -> Duration? {
    end > 0 ? .microseconds(max(end - begin, 0)) : nil
  }
}

extension Timings {
  /// The sum of the parts of two transfers, one after the other.
  func adding(_ later: Timings) -> Timings {
    var sum = self
    for part in [\Timings.dns, \.connect, \.tls, \.ttfb, \.download] {
      guard let duration = later[keyPath: part] else { continue }
      sum[keyPath: part] = (sum[keyPath: part] ?? .zero) + duration
    }
    return sum
  }
}
