import CVips
import Glibc
package import ImgModel

/// The proof that libvips is ready, which a decode requires.
///
/// There is one libvips per process, and its start is not safe beside other threads. So a process
/// starts it once; later calls return the first result.
package struct VipsRuntime: Sendable {
  /// Evaluated once, however many threads ask.
  private static let started = Result<VipsRuntime, VipsError> { () throws(VipsError) in
    // Orc would compile loops of libvips at run time, which needs executable memory.
    unsafe setenv("ORC_CODE", "emulate", 1)
    let modules = VipsModules()
    let start = { unsafe vips_init("imgctl") }
    guard (modules?.withheld(from: start) ?? start()) == 0 else {
      throw VipsError(operation: "vips_init")
    }
    modules?.load()
    // Later the process may read fonts, and nothing that says where they are.
    img_start_fontconfig()
    return VipsRuntime()
  }

  /// Starts libvips. Called before the process has threads of its own.
  ///
  /// - Parameter formats: the optional formats that are decoded.
  package static func start(
    allowing formats: [ImageFormat] = []
  ) throws(VipsError) -> VipsRuntime {
    let runtime = try started.get()
    for format in formats { allowLoader(of: format) }
    return runtime
  }

  private init() {
    // No picture is decoded twice, so remembered operations are memory lost.
    vips_cache_set_max(0)
    // One decode uses one core: the parallelism is that of the worker processes.
    vips_concurrency_set(1)
    // The loops of libvips that are compiled at run time need executable memory, which a locked
    // decoder may not have. `Image.resampled(to:)` takes their place where they saved the most time.
    vips_vector_set_enabled(0)
    img_vips_silence_warnings()
    Self.blockLoaders()
  }

  /// Leaves the loaders of the formats that are always taken, and no other. Blocked is above all what
  /// hands the bytes to a further library of many formats (ImageMagick, OpenSlide, MATLAB, …).
  private static func blockLoaders() {
    unsafe vips_operation_block_set("VipsForeignLoad", 1)
    for format in ImageFormat.allCases where !format.isOptional { allowLoader(of: format) }
  }

  private static func allowLoader(of format: ImageFormat) {
    guard let loader = format.loader else { return }
    // A build of libvips may lack a loader; its pictures then fail one by one.
    let type = unsafe vips_type_find("VipsForeignLoad", loader)
    if let name = unsafe g_type_name(type) { unsafe vips_operation_block_set(name, 0) }
  }

  /// Frees what libvips keeps for the calling thread. The last call of a thread that decoded and
  /// that libvips did not create.
  package func shutdownThread() {
    vips_thread_shutdown()
  }
}
