package import ImgModel

/// A request of a client that waits for one picture now.
package enum Viewer {
  /// Nothing begins for it before its delay is over.
  case delayed(
    name: String?, url: ImageURL, RequestOptions, bypassesStore: Bool, ArrivalUpdates)
  case waiting(name: String?, WorkID)

  package var name: String? {
    switch self {
    case .delayed(let name, _, _, _, _), .waiting(let name, _): name
    }
  }
}
