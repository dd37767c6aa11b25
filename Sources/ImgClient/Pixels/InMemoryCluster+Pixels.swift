extension InMemoryCluster {
  /// The pixels that the image was served with; those of each frame are the same. An image that was served
  /// without has the average colour of its ThumbHash, or is grey.
  ///
  /// - Throws: ``ImageError/Code/frameOutOfRange`` for a frame that the image does not have,
  ///   ``ImageError/Code/corruptImage`` for an image without bytes or without a size.
  public func pixels(
    of image: LoadedImage, frame: Int
  ) async throws(ImageError) -> ImagePixels {
    guard !Task.isCancelled else { throw .cancelled(nil) }
    let frameCount = image.animation?.frameCount ?? 1
    guard (0..<frameCount).contains(frame) else {
      throw ImageError(
        code: .frameOutOfRange,
        message: "frame \(frame) does not exist: the image has \(frameCount), counted from 0")
    }
    if let pixels = servedPixels(of: image) { return pixels }
    let colour = image.averageColour ?? Self.grey
    guard !image.bytes.isEmpty,
      let pixels = ImagePixels(
        width: image.width, height: image.height, filledWith: ImagePixels.Pixel(colour))
    else { throw ImageError(code: .corruptImage, message: "the image has no pixels") }
    return pixels
  }

  private static let grey = ImageVariant.Colour(red: 128, green: 128, blue: 128)
}
