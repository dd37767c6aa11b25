package import ImgWire

extension RequestRefusal.Code {
  /// Whether the coordinator cannot serve any request, rather than refusing this one.
  package var meansNoCoordinator: Bool {
    switch self {
    case .stopping, .journal, .unavailable, .notPermitted: true
    case .unknownJob, .wrongState, .invalidRequest: false
    }
  }
}
