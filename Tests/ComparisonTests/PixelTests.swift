import ImgDecode
import ImgModel
import TestPictures
import Testing

/// Thumbnails of files that FFmpeg has written, compared with what FFmpeg decodes and scales.
@Suite(.timeLimit(.minutes(20))) struct PixelTests {
  private let thumbnailer: Thumbnailer
  private let reader: PictureReader

  init() throws {
    let runtime = try VipsRuntime.start()
    thumbnailer = Thumbnailer(runtime: runtime, limits: Limits())
    reader = PictureReader(runtime: runtime)
  }

  private func raster(
    of picture: FFmpegPicture, _ frames: FrameSelection = .first, size: Int
  ) throws -> Raster {
    let variant = try Variant(width: size, height: size, format: .png, frames: frames)
    return try reader.raster(of: thumbnailer.thumbnail(of: picture.bytes, as: variant).bytes)
  }

  @Test(arguments: [
    ("still.jpg", ["-q:v", "2"]),
    ("still.png", []), ("gray.png", ["-pix_fmt", "gray"]), ("deep.png", ["-pix_fmt", "rgb48be"]),
    ("palette.png", ["-pix_fmt", "pal8"]), ("still.gif", []),
    ("still.webp", ["-quality", "95"]), ("exact.webp", ["-lossless", "1"]),
    ("still.tiff", []), ("gray.tiff", ["-pix_fmt", "gray"]), ("still.jxl", ["-distance", "0.5"]),
    ("still.bmp", []), ("still.ico", ["-s", "192x128"]),
  ])
  func `a thumbnail looks like FFmpeg's`(name: String, options: [String]) throws {
    let picture = try FFmpegPicture(
      "mandelbrot=s=600x400", frameCount: 1, options: options, named: name)
    let shown = try raster(of: picture, size: 150)
    let reference = try picture.frames(width: 150, height: 100, filter: "lanczos")
    #expect((shown.width, shown.height) == (150, 100))
    #expect(shown.decibels(against: reference[0]) >= 30)
  }

  /// Most of their frames refer to others, also to later ones.
  @Test(arguments: [
    ("film.gif", []), ("film.apng", []),
    ("colours.avif", ["-c:v", "libaom-av1", "-cpu-used", "8", "-pix_fmt", "yuv420p"] + avis),
    ("deep.avif", ["-c:v", "libaom-av1", "-cpu-used", "8", "-pix_fmt", "yuv444p10le"] + avis),
    ("gray.avif", ["-c:v", "libaom-av1", "-cpu-used", "8", "-pix_fmt", "gray"] + avis),
    ("colours.heic", ["-c:v", "libx265", "-pix_fmt", "yuv420p"] + heics),
    ("deep.heic", ["-c:v", "libx265", "-pix_fmt", "yuv420p10le"] + heics),
    ("wide.heic", ["-c:v", "libx265", "-pix_fmt", "yuv422p12le"] + heics),
    ("whole.heic", ["-c:v", "libx265", "-pix_fmt", "yuv444p"] + heics),
    ("gray.heic", ["-c:v", "libx265", "-pix_fmt", "gray"] + heics),
  ])
  func `each frame of an animation looks like FFmpeg's`(name: String, options: [String]) throws {
    let picture = try FFmpegPicture(
      "testsrc2=s=162x122:r=10", frameCount: 12, options: options, named: name)
    let reference = try picture.frames(width: 162, height: 122, filter: "neighbor")
    #expect(reference.count == 12)
    for (number, frame) in reference.enumerated() {
      let shown = try raster(of: picture, .number(number), size: 200)
      #expect(shown.decibels(against: frame) >= 40, "frame \(number)")
    }
  }

  private static let avis = ["-f", "mp4", "-brand", "avis"]
  private static let heics = [
    "-x265-params", "log-level=0:bframes=4", "-tag:v", "hvc1", "-f", "mp4", "-brand", "hevc",
  ]
}
