import ImgDecode
import ImgSystem
import TestPictures
import Testing

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

  @Test func `only the modules of decoded formats are loaded`() throws {
    _ = try VipsRuntime.start()
    let maps = try FileIO.contents(of: "/proc/self/maps", upTo: 16 << 20)
    let modules = String(decoding: maps, as: UTF8.self).split(separator: "\n")
      .filter { $0.contains("/vips-modules-") }.compactMap { $0.split(separator: "/").last }
    // A build of libvips may have none.
    #expect(Set(modules).isSubset(of: ["vips-heif.so", "vips-jxl.so"]))
  }
}
