/// How far a load is.
///
/// The order is always: ``empty``, unless the image is at hand; then ``loading(_:)`` or ``preview(_:)``, any
/// number of times; at last exactly one of ``success(_:)`` and ``failure(_:)``.
///
/// The enumeration is closed: no version adds a case.
public enum ImagePhase: Hashable, Sendable {
  /// Nothing of the picture has arrived.
  case empty
  /// The picture is arriving. What has arrived never becomes less.
  case loading(ImageProgress)
  /// What the picture looks like until now, for a request with ``ImageRequest/isIncremental``. Each
  /// preview is nearer to the image than the one before.
  case preview(ImagePreview)
  /// The image is there. Nothing follows.
  case success(LoadedImage)
  /// There is no image, also because the load was cancelled. Nothing follows.
  case failure(ImageError)

  /// The image, if the load has succeeded.
  public var image: LoadedImage? {
    if case .success(let image) = self { image } else { nil }
  }

  /// Why there is no image, if the load has failed.
  public var error: ImageError? {
    if case .failure(let error) = self { error } else { nil }
  }

  /// Whether nothing follows.
  public var isTerminal: Bool {
    switch self {
    case .success, .failure: true
    case .empty, .loading, .preview: false
    }
  }
}
