import FoundationEssentials
import ImgSystem

/// The peer img2dataset, a program in Python that downloads and resizes lists of images.
struct Img2dataset {
  /// One list, from the start of the command to its end.
  struct Pass {
    let listCount: Int
    let successCount: Int
    /// The whole command.
    let seconds: Double
    /// From the start of its first shard to the end of its last one.
    let runningSeconds: Double
  }

  /// What it writes about a shard.
  private struct Shard: Decodable {
    let successes: Int
    let startTime: Double
    let endTime: Double

    private enum CodingKeys: String, CodingKey {
      case successes
      case startTime = "start_time"
      case endTime = "end_time"
    }
  }

  /// The program.
  let path: String
  let imgctl: Imgctl

  private static let processCount = 2
  /// Its processes take a shard each at a time, so there are several for each.
  private static let shardCount = 8

  /// `keep_ratio_largest` fits a picture into the box, as imgctl does; `keep_ratio` would make its
  /// smaller side as long as the box and so its pictures larger.
  private static let settings = [
    "--processes_count", "\(processCount)", "--thread_count", "32", "--output_format", "files",
    "--image_size", "256", "--resize_mode", "keep_ratio_largest", "--encode_quality", "80",
    "--resize_only_if_bigger", "True",
  ]
  /// The command as people would type it.
  static let command = "img2dataset \(settings.joined(separator: " "))"

  /// - Parameter output: a directory for its thumbnails, which is replaced.
  func run(_ list: String, lineCount: Int, output: String) throws -> Pass {
    // Its libraries leave directories behind.
    let temporary = imgctl.workDirectory + "/img2dataset-temporary"
    try? FileManager.default.removeItem(atPath: output)
    try FileManager.default.createDirectory(
      atPath: temporary, withIntermediateDirectories: true)
    let shardLineCount = (lineCount + Self.shardCount - 1) / Self.shardCount
    let duration = try imgctl.run(
      program: "/usr/bin/env",
      ["NO_ALBUMENTATIONS_UPDATE=1", "TMPDIR=\(temporary)", path]
        + ["--url_list", list, "--output_folder", output]
        + ["--number_sample_per_shard", "\(shardLineCount)"] + Self.settings)
    let shards = try Self.shards(in: output)
    guard let start = shards.map(\.startTime).min(), let end = shards.map(\.endTime).max() else {
      throw BenchError("img2dataset wrote no statistics below \(output)")
    }
    return Pass(
      listCount: lineCount, successCount: shards.reduce(0) { $0 + $1.successes },
      seconds: duration.inSeconds, runningSeconds: end - start)
  }

  private static func shards(in directory: String) throws -> [Shard] {
    try FileManager.default.contentsOfDirectory(atPath: directory)
      .filter { $0.hasSuffix("_stats.json") }
      .map { name in
        let bytes = try FileIO.contents(of: "\(directory)/\(name)", upTo: 1 << 20)
        return try JSONDecoder().decode(Shard.self, from: Data(bytes))
      }
  }
}
