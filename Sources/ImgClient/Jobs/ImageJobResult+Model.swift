import ImgModel

extension ImageJobResult.Outcome {
  /// - Parameter url: of the line, as it was submitted.
  init(_ outcome: Outcome, url: String) {
    self =
      switch outcome {
      case .done(let thumbnail, let isFromCache, _):
        .done(
          ImageJobResult.Thumbnail(
            type: ImageType(thumbnail.format), width: thumbnail.width, height: thumbnail.height,
            byteCount: thumbnail.byteCount, isDamaged: thumbnail.isDamaged,
            isFromCache: isFromCache))
      case .failed(let failure, _): .failed(ImageError(failure, url: url))
      case .cancelled: .cancelled
      }
  }
}
