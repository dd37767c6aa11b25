import Dispatch
import FoundationEssentials
import ImgDecode
import ImgModel
import Synchronization
import TestPictures

/// The yardstick: the calls of libvips that a worker makes, on pictures in memory, in one process,
/// one thread a core; no network, no store, no other process.
struct BareDecoding {
  /// What is done with each picture.
  enum Work {
    /// All that a decoder does: decode, resize, encode.
    case thumbnails
    /// Nothing but all pixels of the first frame, as the format's library gives them.
    case pixels
  }

  private let thumbnailer: Thumbnailer
  private let reader: PictureReader
  private let runtime: VipsRuntime
  private let pictures: [[UInt8]]

  init(pictureDirectory: String) throws {
    runtime = try VipsRuntime.start()
    thumbnailer = Thumbnailer(runtime: runtime, limits: Limits())
    reader = PictureReader(runtime: runtime)
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

  /// Takes each picture in turn, `count` in all.
  ///
  /// - Parameter count: `nil` for each picture once.
  /// - Returns: how long that took.
  func run(
    threadCount: Int, _ work: Work = .thumbnails, count: Int? = nil
  ) throws(BenchError) -> Duration {
    let count = count ?? pictures.count
    let next = Atomic(0)
    let failureCount = Atomic(0)
    let start = ContinuousClock.now
    DispatchQueue.concurrentPerform(iterations: threadCount) { _ in
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < count else { break }
        do {
          try perform(work, on: pictures[index % pictures.count])
        } catch {
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

  private func perform(_ work: Work, on picture: [UInt8]) throws {
    switch work {
    case .thumbnails: _ = try thumbnailer.thumbnail(of: picture, as: .standard)
    case .pixels: try reader.decode(picture)
    }
  }
}
