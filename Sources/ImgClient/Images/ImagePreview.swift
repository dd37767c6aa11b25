/// What a picture looks like before all of it has arrived. It has the size of the thumbnail.
public struct ImagePreview: Hashable, Sendable {
  /// Counts the previews of a request from 1. Each is nearer to the thumbnail than the one before.
  public let number: Int
  /// The encoded preview.
  public let bytes: [UInt8]
  /// Its encoding.
  public let type: ImageType
  /// Its width in pixels.
  public let width: Int
  /// Its height in pixels.
  public let height: Int

  /// A preview, such as one for a test.
  public init(number: Int, bytes: [UInt8], type: ImageType, width: Int, height: Int) {
    self.number = number
    self.bytes = bytes
    self.type = type
    self.width = width
    self.height = height
  }
}
