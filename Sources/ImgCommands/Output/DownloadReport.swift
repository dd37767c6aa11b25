import ImgModel

/// What `imgctl get --progress --json` prints while a picture arrives.
struct DownloadReport: Encodable {
  private let url: RequestedURL
  private let progress: BodyProgress

  init(_ progress: BodyProgress, of url: RequestedURL) {
    self.url = url
    self.progress = progress
  }

  func encode(to encoder: any Encoder) throws {
    try url.encode(to: encoder)
    try progress.encode(to: encoder)
  }
}
