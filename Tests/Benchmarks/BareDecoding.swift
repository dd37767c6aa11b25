import Dispatch
import FoundationEssentials
import ImgDecode
import ImgModel
import Synchronization

/// The yardstick: the calls of libvips that a worker makes, on pictures in memory, in one process,
/// one thread a core; no network, no store, no other process.
struct BareDecoding {
  private let thumbnailer: Thumbnailer
  private let runtime: VipsRuntime
  private let pictures: [[UInt8]]

  init(pictureDirectory: String) throws {
    runtime = try VipsRuntime.start()
    thumbnailer = Thumbnailer(runtime: runtime, limits: Limits())
    let files = FileManager.default
    pictures = try files.subpathsOfDirectory(atPath: pictureDirectory).compactMap { name in
      files.contents(atPath: "\(pictureDirectory)/\(name)").map(Array.init)
    }
  }

  var pictureCount: Int { pictures.count }

  /// A thumbnail of the first picture, as the store would hold it.
  func example() throws(Failure) -> RenderedThumbnail {
    try thumbnailer.thumbnail(of: pictures[0], as: .standard)
  }

  /// Makes all thumbnails.
  ///
  /// - Returns: how long that took.
  func run(threadCount: Int) throws(BenchError) -> Duration {
    let next = Atomic(0)
    let failureCount = Atomic(0)
    let start = ContinuousClock.now
    DispatchQueue.concurrentPerform(iterations: threadCount) { _ in
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < pictures.count else { break }
        if (try? thumbnailer.thumbnail(of: pictures[index], as: .standard)) == nil {
          failureCount.add(1, ordering: .relaxed)
        }
      }
      runtime.shutdownThread()
    }
    let duration = start.duration(to: .now)
    let failed = failureCount.load(ordering: .relaxed)
    guard failed == 0 else { throw BenchError("\(failed) pictures could not be decoded") }
    return duration
  }
}
