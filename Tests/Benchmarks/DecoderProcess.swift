import FoundationEssentials
import ImgSystem

/// A running decoder as the kernel counts it (proc(5)).
struct DecoderProcess {
  let processID: Int32
  /// User and system time.
  let processorSeconds: Double
  /// The most memory that it had resident, shared pages included.
  let peakMiB: Double

  private static let programName = "imgdecoder"

  /// - Parameter coordinatorID: of the process whose children are looked for.
  static func all(of coordinatorID: Int32) throws -> [DecoderProcess] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { name in
      guard let processID = Int32(name) else { return nil }
      return decoder(processID, childOf: coordinatorID)
    }
  }

  /// - Returns: `nil` for another process, and for one that has just ended.
  private static func decoder(_ processID: Int32, childOf parent: Int32) -> DecoderProcess? {
    guard let bytes = try? FileIO.contents(of: "/proc/\(processID)/status", upTo: 1 << 14) else {
      return nil
    }
    var values: [Substring: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      values[parts[0]] = parts[1].filter { $0 != "\t" && $0 != " " }
    }
    guard values["Name"] == programName, values["PPid"] == "\(parent)",
      let kibibytes = values["VmHWM"].flatMap({ Double($0.prefix { $0.isNumber }) }),
      let seconds = try? ProcessorTime.seconds(of: processID)
    else { return nil }
    return DecoderProcess(
      processID: processID, processorSeconds: seconds, peakMiB: kibibytes / 1_024)
  }
}
