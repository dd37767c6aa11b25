import ImgSystem
import TestPictures
import Testing

@testable import ImgDecode

@Suite struct VipsRuntimeTests {
  @Test func `a second start returns the same runtime`() throws {
    _ = try VipsRuntime.start()
    _ = try VipsRuntime.start()
  }

  @Test func `a loader that is not on the list does not run`() throws {
    let reader = PictureReader(runtime: try VipsRuntime.start())
    let pixmap = Array("P6\n1 1\n255\nabc".utf8)
    #expect(throws: PictureError.self) { try reader.raster(of: pixmap) }
  }

  @Test func `an error says each thing once, and the reason rather than where it looked`() {
    let summary = VipsError.summary(
      of: """
        source: bad seek to 21785
        source: bad seek to 21595
        heif: Unexpected end of file: outside of file bounds;  (2.100)
        heif: Unexpected end of file: outside of file bounds;  (2.100)
        """)
    #expect(summary == "heif: Unexpected end of file: outside of file bounds (2.100)")
    #expect(VipsError.summary(of: "source: bad seek to 36\n") == "source: bad seek to 36")
    let cut = "heif: Unexpected end of file: Extent in iloc box (points to 36)\n (2.100)"
    #expect(
      VipsError.summary(of: cut)
        == "heif: Unexpected end of file: Extent in iloc box (points to 36) (2.100)")
    let tags = (1...9).map {
      "TIFFFetchNormalTag: Defined set_field_type of custom tag \($0) (Tag \($0)) is "
        + "TIFF_SETGET_UNDEFINED and thus tag is not read from file\n"
    }
    let lines = tags + ["ZIPDecode: Decoding error at scanline 0\n", "tiff2vips: read error\n"]
    #expect(
      VipsError.summary(of: lines.joined()) == "ZIPDecode: Decoding error at scanline 0")
    #expect(VipsError.summary(of: "tiff2vips: read error\n") == "tiff2vips: read error")
  }

  @Test func `only the modules of decoded formats are loaded`() throws {
    _ = try VipsRuntime.start()
    let maps = try FileIO.contents(of: "/proc/self/maps", upTo: 16 << 20)
    let modules = String(decoding: maps, as: UTF8.self).split(separator: "\n")
      .filter { $0.contains("/vips-modules-") }.compactMap { $0.split(separator: "/").last }
    // A build of libvips may have none.
    #expect(Set(modules).isSubset(of: ["vips-heif.so", "vips-jxl.so"]))
  }
}
