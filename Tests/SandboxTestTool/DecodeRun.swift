import Glibc
import ImgDecode
import ImgModel
import ImgSandbox
import ImgSystem

/// Decodes files in one process, with or without the sandbox of a decoder.
struct DecodeRun {
  let lock: Lock
  /// How often each file is decoded.
  let count: Int
  let paths: [String]

  private static let maximumByteCount = 100 << 20

  /// Prints a line for each file, the path, a tab, and a checksum of the thumbnail or the failure.
  /// Notes on standard error how long the steps took.
  func run() throws {
    // The files and libvips before the lock, as in a decoder.
    let pictures = try paths.map {
      (path: $0, bytes: try FileIO.contents(of: $0, upTo: Self.maximumByteCount))
    }
    switch lock {
    case .decoder:
      let starting = ContinuousClock.now
      let sandbox = try Sandbox(start: .decoder(keeping: Lock.streams))
      try Self.note("started in \(Self.milliseconds(since: starting)) ms")
      try sandbox.limit(to: ProcessLimits(privateByteCount: 8 << 30, sharedByteCount: 0))
      let runtime = try VipsRuntime.start()
      let locking = ContinuousClock.now
      let report = try sandbox.lock(.decoder, isRequired: false)
      try Self.note("\(report)\nlocked in \(Self.milliseconds(since: locking)) ms")
      try decode(pictures, runtime: runtime)
    case .none:
      try decode(pictures, runtime: try VipsRuntime.start())
    case .worker, .gateway, .coordinator:
      throw UsageError(description: "only a decoder decodes")
    }
  }

  private func decode(
    _ pictures: [(path: String, bytes: [UInt8])], runtime: VipsRuntime
  ) throws {
    let thumbnailer = Thumbnailer(runtime: runtime, limits: Limits())
    let began = ContinuousClock.now
    for round in 1...count {
      for (path, bytes) in pictures {
        let result = outcome(of: bytes, thumbnailer)
        if round == 1 { try FileIO.writeAll(STDOUT_FILENO, "\(path)\t\(result)\n") }
      }
    }
    try Self.note("decoded in \(Self.milliseconds(since: began)) ms")
  }

  private static func milliseconds(since start: ContinuousClock.Instant) -> Double {
    (.now - start) / .milliseconds(1)
  }

  private static func note(_ text: String) throws(SystemError) {
    try FileIO.writeAll(STDERR_FILENO, text + "\n")
  }

  private func outcome(of bytes: [UInt8], _ thumbnailer: Thumbnailer) -> String {
    do throws(Failure) {
      let thumbnail = try thumbnailer.thumbnail(of: bytes, as: .standard)
      return "\(thumbnail.thumbnail.format) \(Self.checksum(of: thumbnail.bytes))"
    } catch {
      return "\(error)"
    }
  }

  /// FNV-1a, for comparisons.
  private static func checksum(of bytes: [UInt8]) -> UInt64 {
    bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
  }
}
