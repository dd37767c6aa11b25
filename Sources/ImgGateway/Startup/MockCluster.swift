import ImgClient

/// A cluster in memory with some pictures of `mock.example`, and a job that loads them. Clients and the gallery can be
/// tried with it without a coordinator and without a network.
enum MockCluster {
  /// The URLs of the job, from `https://mock.example/0.png`.
  private static let urlCount = 100
  /// One of so many URLs has no picture.
  private static let missingInterval = 25
  private static let (width, height) = (96, 72)

  static func make() -> InMemoryCluster {
    let cluster = InMemoryCluster()
    let urls = (0..<urlCount).map { "https://mock.example/\($0).png" }
    for (index, url) in urls.enumerated() where index % missingInterval != missingInterval - 1 {
      cluster.serve(url, picture(index))
    }
    Task {
      _ = try? await ImageClient(transport: cluster, memoryCache: nil).jobs.submit(urls)
    }
    return cluster
  }

  /// A PNG with a colour of its own. It has this size, whatever a request asks for.
  private static func picture(_ index: Int) -> LoadedImage {
    let pixels = (0..<height).flatMap { row in
      (0..<width).flatMap { column in
        [UInt8(truncatingIfNeeded: 67 * index), UInt8(2 * column), UInt8(3 * row), .max]
      }
    }
    let source = LoadedImage.Source(
      type: .png, width: width, height: height, byteCount: pixels.count)
    return LoadedImage(
      bytes: ImagePixels(width: width, height: height, bytes: pixels)?.pngFile ?? [], type: .png,
      width: width, height: height, source: source, origin: .network)
  }
}
