import ImgSystem
import TestFiles

/// A file that FFmpeg has written, and what FFmpeg shows of it.
struct FFmpegPicture {
  /// Colours are converted exactly, and a sample of chroma holds for all of its pixels.
  private static let exact = "full_chroma_int+accurate_rnd"

  let bytes: [UInt8]
  private let path: String
  private let directory: TestDirectory

  /// - Parameters:
  ///   - source: one of FFmpeg's sources of test pictures, with its options.
  ///   - name: of the file; its extension selects the format.
  init(
    _ source: String, frameCount: Int, options: [String] = [], named name: String
  ) throws {
    directory = try TestDirectory()
    path = directory.file(name)
    try ReferenceProgram.ffmpeg.run(
      ["-v", "error", "-f", "lavfi", "-i", source, "-frames:v", "\(frameCount)"] + options
        + [path],
      in: directory)
    bytes = try FileIO.contents(of: path, upTo: 64 << 20)
  }

  /// Red, green and blue of all frames, row after row.
  ///
  /// - Parameter filter: how the frames are scaled: `lanczos`, `neighbor` and others.
  func frames(width: Int, height: Int, filter: String) throws -> [[UInt8]] {
    let output = try ReferenceProgram.ffmpeg.run(
      [
        "-v", "error", "-i", path, "-vsync", "0", "-vf",
        "scale=\(width):\(height):flags=\(filter)+\(Self.exact)", "-f", "rawvideo", "-pix_fmt",
        "rgb24", "-",
      ], in: directory)
    let byteCount = width * height * 3
    return stride(from: 0, to: output.count, by: byteCount).map {
      Array(output[$0..<min(output.count, $0 + byteCount)])
    }
  }
}
