import Dispatch
import ImgClient

/// A cluster in memory with some pictures of `mock.example`, and a job that loads them. Clients and the gallery can be
/// tried with it without a coordinator and without a network.
enum MockCluster {
  /// The URLs of the job, from `https://mock.example/0.png`.
  private static let urlCount = 100
  /// One of so many URLs has no picture.
  private static let missingInterval = 25
  private static let (width, height) = (96, 72)

  /// Returns when the job is accepted.
  static func make() -> InMemoryCluster {
    let cluster = InMemoryCluster()
    let urls = (0..<urlCount).map { "https://mock.example/\($0).png" }
    for (index, url) in urls.enumerated() where index % missingInterval != missingInterval - 1 {
      cluster.serve(url, picture(index))
    }
    let isAccepted = DispatchSemaphore(value: 0)
    Task {
      _ = try? await ImageClient(transport: cluster, memoryCache: nil).jobs.submit(urls)
      isAccepted.signal()
    }
    isAccepted.wait()
    return cluster
  }

  /// A PNG file with a colour of its own.
  private static func picture(_ index: Int) -> LoadedImage {
    let bytes = (0..<height).flatMap { row in
      (0..<width).flatMap { column in
        [UInt8(truncatingIfNeeded: 67 * index), UInt8(2 * column), UInt8(3 * row), .max]
      }
    }
    guard let pixels = ImagePixels(width: width, height: height, bytes: bytes) else {
      preconditionFailure("each pixel has four bytes")
    }
    let file = pixels.pngFile
    return LoadedImage(
      bytes: file, type: .png, width: width, height: height,
      source: LoadedImage.Source(
        type: .png, width: width, height: height, byteCount: file.count),
      origin: .network)
  }
}
