import ImgClient
import ImgCommands
import ImgSystem

/// Loads the URLs that come in on standard input, one a line, by the library, one at a time, and answers each with
/// a line: the microseconds of the load, and the bytes of its thumbnail.
struct LoadProcess {
  static let name = "load-process"
  /// As another program asks for it that shall make the same thumbnails.
  private static let variant = ImageVariant(size: 256, format: .jpeg)

  func run() throws {
    let client = ImageClient(transport: try ClusterTransport(.standard), memoryCache: nil)
    let output = Output(descriptor: 1, capacity: 0)
    while let url = readLine() {
      let (microseconds, byteCount) = try Bench.blocking {
        let start = ContinuousClock.now
        let image = try await client.image(for: ImageRequest(url: url, variant: Self.variant))
        return (start.duration(to: .now) / .microseconds(1), image.bytes.count)
      }
      try output.write("\(microseconds) \(byteCount)\n")
    }
  }
}
