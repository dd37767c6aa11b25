import CLinux
import Glibc

/// The time since a moment that all processes of the machine share (CLOCK_MONOTONIC). It never
/// jumps, and stands still while the machine sleeps.
package enum MonotonicClock {
  package static func nanoseconds() -> UInt64 {
    let time = read(CLOCK_MONOTONIC)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// The processor time of the calling thread (CLOCK_THREAD_CPUTIME_ID). It stands still while the
/// thread does not run.
package enum ThreadClock {
  package static func time() -> Duration {
    Duration(read(CLOCK_THREAD_CPUTIME_ID))
  }
}

/// The processor time of all threads of a process (clock_getcpuclockid(3)).
package enum ProcessClock {
  /// - Returns: `nil` if there is no such process.
  package static func time(ofProcess processID: Int32) -> Duration? {
    var clock = clockid_t()
    var time = timespec()
    guard unsafe clock_getcpuclockid(processID, &clock) == 0,
      unsafe clock_gettime(clock, &time) == 0
    else { return nil }
    return Duration(time)
  }
}

private func read(_ clock: clockid_t) -> timespec {
  var time = timespec()
  let result = unsafe clock_gettime(clock, &time)
  precondition(result == 0, "every Linux has clock \(clock)")
  return time
}

/// Properties of a terminal.
package enum Terminal {
  package static func isTerminal(_ descriptor: CInt) -> Bool {
    isatty(descriptor) == 1
  }

  /// The width in characters; `nil` if it is not a terminal or does not report one.
  package static func columns(_ descriptor: CInt) -> Int? {
    let columns = img_terminal_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
  }
}

/// Converts IP addresses between text and bytes in network order.
package enum IPAddress {
  /// Reads the syntax of inet_pton(3): four decimal numbers without leading zeros, or IPv6 (RFC
  /// 4291 section 2.2) without brackets or zone.
  ///
  /// - Returns: 4 or 16 bytes; `nil` for anything else.
  package static func bytes(parsing text: String) -> [UInt8]? {
    // C reads only the part before a zero byte.
    guard !text.utf8.contains(0) else { return nil }
    return parse(text, AF_INET, byteCount: 4) ?? parse(text, AF_INET6, byteCount: 16)
  }

  /// The canonical text of 4 or 16 bytes (for IPv6 see RFC 5952); `nil` for other counts.
  package static func text(_ bytes: [UInt8]) -> String? {
    let family: CInt
    switch bytes.count {
    case 4: family = AF_INET
    case 16: family = AF_INET6
    default: return nil
    }
    var characters = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard unsafe inet_ntop(family, bytes, &characters, socklen_t(characters.count)) != nil else {
      return nil
    }
    return String(
      decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func parse(_ text: String, _ family: CInt, byteCount: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    return unsafe inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }
}
