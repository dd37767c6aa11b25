import ImgFacts
import ImgSystem
import TestFiles
import Testing

/// Metadata that ExifTool has written.
@Suite(.timeLimit(.minutes(20))) struct MetadataTests {
  private func facts(_ name: String, _ tags: [String]) throws -> PictureFacts {
    let picture = try FFmpegPicture("mandelbrot=s=60x40", frameCount: 1, named: name)
    let directory = try TestDirectory()
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

  @Test func `frames that are decoded in another order have the delays in which they are shown`()
    throws
  {
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
