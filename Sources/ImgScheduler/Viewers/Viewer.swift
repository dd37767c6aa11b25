package import ImgModel

/// A request of a client that waits for one picture now.
package enum Viewer {
  /// Nothing begins for it before its delay is over.
  case delayed(ViewerRequest, ImageURL)
  case waiting(name: String?, WorkID)

  package var name: String? {
    switch self {
    case .delayed(let request, _): request.name
    case .waiting(let name, _): name
    }
  }
}
