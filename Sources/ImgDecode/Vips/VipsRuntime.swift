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

/// The parts of libvips that Debian builds as files of their own: each a loader of some formats,
/// with the libraries that those need.
///
/// libvips loads all of them when it starts. Those of formats that are not decoded, such as those
/// of ImageMagick and Poppler, cost a process some megabytes, and no picture should reach their
/// code.
struct VipsModules {
  /// Where libvips looks for everything that belongs to it, instead of where it was installed.
  private static let variable = "VIPSHOME"
  /// Those with formats that are decoded.
  private static let names = ["vips-heif", "vips-jxl"]

  private let directory: String

  /// - Returns: `nil` where they cannot be told apart: in a build of libvips that has none beside
  ///   it, and where VIPSHOME is set already.
  init?() {
    guard unsafe g_getenv(Self.variable) == nil, let library = unsafe img_vips_library_path() else {
      return nil
    }
    let path = unsafe String(cString: library)
    guard let slash = path.lastIndex(of: "/") else { return nil }
    directory = "\(path[..<slash])/vips-modules-\(vips_version(0)).\(vips_version(1))"
    guard unsafe g_file_test(directory, G_FILE_TEST_IS_DIR) != 0 else { return nil }
  }

  /// Starts libvips so that it loads none of them. Call it before the process has threads of its
  /// own: it changes the environment for a moment.
  func withheld(from start: () -> CInt) -> CInt {
    unsafe g_setenv(Self.variable, "/nonexistent", 1)
    defer { unsafe g_unsetenv(Self.variable) }
    return start()
  }

  /// Loads those with formats that are decoded. Without a missing or broken one the process still
  /// starts, and its pictures fail one by one.
  func load() {
    for name in Self.names { _ = unsafe img_vips_load_module("\(directory)/\(name).so") }
    // Later the process may be unable to load code. Of the pictures inside an SVG, only other SVGs need
    // more than GdkPixbuf itself.
    unsafe img_load_pixbuf_module("image/svg+xml")
  }
}

/// A call of libvips, or of a library that works on its images, that failed: which one, and what
/// libvips said.
///
/// libvips keeps one error text for the whole process. One thread decodes, and clears it before
/// each picture. It is for people; nothing but ``isOutOfMemory`` depends on it.
package struct VipsError: Error, Sendable, CustomStringConvertible {
  package let operation: String
  package let detail: String

  /// Takes the error text out of libvips' buffer, which is empty afterwards.
  init(operation: String) {
    self.operation = operation
    // The function declares its result as never NULL, and returns a string for g_free().
    let text = unsafe vips_error_buffer_copy()
    defer { unsafe g_free(text) }
    detail = Self.summary(of: unsafe text.map { unsafe String(cString: $0) } ?? "")
  }

  /// What libvips and the libraries below it said, each thing once: the reason, rather than what followed from it.
  static func summary(of text: String) -> String {
    let lines = text.split(whereSeparator: \.isNewline).map(Self.withoutEmptyParts)
    let reasons = lines.filter { line in !asides.contains { line.contains($0) } }
    var seen: Set<String> = []
    return (reasons.isEmpty ? lines : reasons).filter { seen.insert($0).inserted }
      .joined(separator: "; ").replacing("; (", with: " (")
  }

  /// Where a library looked, which tags of a TIFF libtiff does not know, and that libvips gave up because libtiff did.
  private static let asides = [
    "source: bad seek to ", "is TIFF_SETGET_UNDEFINED and thus tag is not read from file",
    "vips__tiff_openin_source: unable to open source for input", "tiff2vips: read error",
  ]

  /// libheif leaves a separator without what it would separate.
  private static func withoutEmptyParts(_ line: Substring) -> String {
    line.split(separator: ";").map { $0.drop(while: \.isWhitespace) }.filter { !$0.isEmpty }
      .joined(separator: "; ")
  }

  /// An allocation outside libvips that failed.
  static func outOfMemory(in operation: String) -> VipsError {
    VipsError(operation: operation, detail: outOfMemoryText)
  }

  private init(operation: String, detail: String) {
    self.operation = operation
    self.detail = detail
  }

  /// libvips reports an allocation that failed by this text alone (vips_malloc()).
  private static let outOfMemoryText = "out of memory"

  /// Forgets what was said of earlier pictures.
  static func forgetEarlier() {
    vips_error_clear()
  }

  var isOutOfMemory: Bool { detail.contains(Self.outOfMemoryText) }

  /// Whether nothing is said but that reading failed.
  var isWithoutReason: Bool { detail.isEmpty || Self.emptyReasons.contains(detail) }

  private static let emptyReasons: Set = [
    "vipspng: libpng read error", "webp: unable to parse image", "webp2vips: unable to read pixels",
    "jxlload_buffer: error JxlDecoderProcessInput",
  ]

  package var description: String {
    detail.isEmpty ? "\(operation): libvips gives no reason" : "\(operation): \(detail)"
  }
}
