import ImgSystem

/// Processor time of those who work for thumbnails, in seconds. Decoding alone is a decoder's work.
struct ProcessorTime {
  let workers: Double
  let decoders: Double
  let coordinator: Double
  let origin: Double

  static func - (later: Self, earlier: Self) -> Self {
    ProcessorTime(
      workers: later.workers - earlier.workers, decoders: later.decoders - earlier.decoders,
      coordinator: later.coordinator - earlier.coordinator, origin: later.origin - earlier.origin)
  }

  /// User and system time of a process, all its threads, since it began (proc(5), stat).
  static func seconds(of processID: Int32) throws -> Double {
    let bytes = try FileIO.contents(of: "/proc/\(processID)/stat", upTo: 4_096)
    // What follows the program's name, which stands in brackets and may hold anything.
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: ")").last?
      .split(separator: " ")
    guard let fields, fields.count > 12, let user = Double(fields[11]),
      let system = Double(fields[12])
    else { throw BenchError("/proc/\(processID)/stat cannot be read") }
    // USER_HZ, which is 100 on every Linux of today (time(7)).
    return (user + system) / 100
  }
}
