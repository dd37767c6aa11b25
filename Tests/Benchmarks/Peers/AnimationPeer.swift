/// A program that converts an animated GIF.
struct AnimationPeer {
  let name: String
  let executable: String
  /// What stands between the paths of the input and the output.
  let settings: [String]
  /// The format of the output, which is also its file's suffix.
  let format: String

  /// Which formats they write, in the quality of our thumbnails. gif2webp cannot scale.
  static let all = [
    AnimationPeer(
      name: "gif2webp, which does not scale", executable: "/usr/bin/gif2webp",
      settings: ["-lossy", "-q", "80", "-o"], format: "webp"),
    imageMagick(format: "webp"), imageMagick(format: "gif"),
  ]

  private static func imageMagick(format: String) -> AnimationPeer {
    AnimationPeer(
      name: "ImageMagick", executable: "/usr/bin/convert",
      settings: ["-coalesce", "-resize", "256x256", "-quality", "80"], format: format)
  }

  func arguments(input: String, output: String) -> [String] {
    [input] + settings + [output]
  }

  /// The command as people would type it.
  var command: String {
    let program = executable.split(separator: "/").last.map(String.init) ?? executable
    return ([program] + arguments(input: "FILE", output: "OUTPUT.\(format)"))
      .joined(separator: " ")
  }
}
