import ImgClient
import ImgModel

/// What `imgctl get --incremental --json` prints for a preview.
struct PreviewReport: Encodable {
  private let number: Int
  private let url: RequestedURL
  private let thumbnail: Thumbnail

  private enum CodingKeys: String, CodingKey {
    case number = "preview"
  }

  init(_ preview: PicturePreview, of url: RequestedURL) {
    self.url = url
    number = preview.number
    thumbnail = preview.thumbnail
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(number, forKey: .number)
    try url.encode(to: encoder)
    try thumbnail.encode(to: encoder)
  }
}
