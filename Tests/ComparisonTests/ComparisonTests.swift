import Glibc
import ImgDecode
import ImgFacts
import ImgModel
import ImgSystem
import TestCluster
import TestFiles
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
    of picture: FFmpegPicture, _ frames: ImageVariant.Frames = .first, size: Int
  ) throws -> Raster {
    let variant = try Variant(ImageVariant(width: size, height: size, format: .png, frames: frames))
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

/// Metadata that ExifTool has written.
@Suite(.timeLimit(.minutes(20))) struct MetadataTests {
  private func facts(_ name: String, _ tags: [String]) throws -> PictureFacts {
    let picture = try FFmpegPicture("mandelbrot=s=60x40", frameCount: 1, named: name)
    let directory = TestDirectory()
    let path = try directory.write(picture.bytes, to: name)
    try ReferenceProgram.exiftool.run(["-q", "-overwrite_original"] + tags + [path], in: directory)
    let bytes = try FileIO.contents(of: path, upTo: 1 << 20)
    return try PictureFacts.reading(WholeBytes(bytes), .all)
  }

  @Test(arguments: ["tagged.jpg", "tagged.png", "tagged.webp", "tagged.tiff"])
  func `what ExifTool writes is read`(name: String) throws {
    let facts = try facts(
      name,
      [
        "-Make=Maker", "-Model=Modèle 3", "-ISO=320", "-ExposureTime=1/250", "-FNumber=5.6",
        "-GPSLatitude=47.5", "-GPSLatitudeRef=S", "-GPSLongitude=8.25", "-GPSLongitudeRef=E",
        "-XMP-dc:Title=Ein Bild", "-XMP-xmp:Rating=4",
      ])
    let exif = try #require(facts.exif)
    #expect(exif.ifd0["Make"] == .text("Maker"))
    #expect(exif.ifd0["Model"] == .text("Modèle 3"))
    #expect(exif.exif["FNumber"] == .number(5.6))
    #expect(exif.exif["ExposureTime"] == .number(0.004))
    #expect(facts.gps?.latitude == -47.5)
    #expect(facts.gps?.longitude == 8.25)
    #expect(facts.xmp?.title == "Ein Bild")
    #expect(facts.xmp?.rating == 4)
    #expect((facts.width, facts.height) == (60, 40))
  }

  @Test(arguments: 1...8)
  func `an orientation that ExifTool writes is obeyed`(orientation: Int) throws {
    let facts = try facts("turned.jpg", ["-n", "-Orientation=\(orientation)"])
    #expect(facts.orientation == orientation)
    let isTurned = orientation > 4
    #expect((facts.width, facts.height) == (isTurned ? 40 : 60, isTurned ? 60 : 40))
  }

  @Test func `frames that are decoded in another order have the delays as they are shown`() throws {
    let picture = try FFmpegPicture(
      "testsrc2=s=64x64:r=10", frameCount: 8,
      options: [
        "-vf", "settb=1/1000,setpts=N*N*50", "-vsync", "vfr", "-enc_time_base", "1/1000", "-c:v",
        "libx265",
        "-x265-params", "log-level=0:bframes=3", "-tag:v", "hvc1", "-f", "mp4", "-brand", "hevc",
      ], named: "uneven.heic")
    let facts = try PictureFacts.reading(WholeBytes(picture.bytes), .all)
    #expect(facts.frameDelays?.prefix(7) == [50, 150, 250, 350, 450, 550, 650])
  }
}

/// A file that FFmpeg has written, and what FFmpeg shows of it.
struct FFmpegPicture {
  /// Colours are converted exactly, and a sample of chroma holds for all of its pixels.
  private static let exact = "full_chroma_int+accurate_rnd"

  let bytes: [UInt8]
  private let path: String
  private let directory = TestDirectory()

  /// - Parameters:
  ///   - source: one of FFmpeg's sources of test pictures, with its options.
  ///   - name: of the file; its extension selects the format.
  init(_ source: String, frameCount: Int, options: [String] = [], named name: String) throws {
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

/// A program of others that writes or reads pictures, to compare with.
enum ReferenceProgram: String {
  case ffmpeg, exiftool

  /// - Returns: what it says on standard output.
  @discardableResult
  func run(_ arguments: [String], in directory: TestDirectory) throws -> [UInt8] {
    let environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
    let result = try ProgramRun(
      "/usr/bin/\(rawValue)", arguments, environment: environment, in: directory
    ).wait()
    guard result.exitCode == 0 else {
      throw ReferenceError("\(rawValue) \(arguments): \(result.messages)")
    }
    return result.outputBytes
  }
}

struct ReferenceError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

extension Raster {
  /// The peak signal-to-noise ratio of the colours, in decibels; 100 for the same pixels.
  ///
  /// - Parameter reference: red, green and blue of all pixels, row after row.
  func decibels(against reference: [UInt8]) -> Double {
    guard reference.count == width * height * 3 else { return 0 }
    var sum = 0
    for pixel in 0..<width * height {
      for channel in 0..<3 {
        let difference = Int(bytes[pixel * 4 + channel]) - Int(reference[pixel * 3 + channel])
        sum += difference * difference
      }
    }
    guard sum > 0 else { return 100 }
    let error = Double(sum) / Double(reference.count)
    return min(100, 10 * log10(255 * 255 / error))
  }
}
