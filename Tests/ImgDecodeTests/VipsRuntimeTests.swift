import ImgDecode
import TestPictures
import Testing

@Suite struct VipsRuntimeTests {
  @Test func `starting again gives the same runtime`() throws {
    _ = try VipsRuntime.start()
    _ = try VipsRuntime.start()
  }

  @Test func `a loader that is not on the list does not run`() throws {
    let reader = PictureReader(runtime: try VipsRuntime.start())
    let pixmap = Array("P6\n1 1\n255\nabc".utf8)
    #expect(throws: PictureError.self) { try reader.raster(of: pixmap) }
  }
}
