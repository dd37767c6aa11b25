import Glibc
import ImgModel
import ImgSandbox

/// The process whose sandbox an attempt is made in.
enum Lock: String {
  case none, decoder, worker, gateway, coordinator

  /// Locks this process as the programs do.
  func apply(in scene: Scene) throws(SandboxError) {
    switch self {
    case .none: break
    case .decoder:
      let sandbox = try Sandbox(start: .decoder(keeping: Self.streams))
      try sandbox.limit(to: ProcessLimits(privateByteCount: 1 << 30, sharedByteCount: 0))
      _ = try sandbox.lock(.decoder, isRequired: false)
    case .worker:
      let places = WorkerPlaces(
        dataDirectories: [scene.storePlace], spoolDirectories: [], allowedDirectories: [],
        authorityFile: nil)
      _ = try Sandbox(start: .worker(keeping: Self.streams))
        .lock(.worker(places), isRequired: false)
    case .gateway:
      let places = GatewayPlaces(
        storePlace: scene.storePlace, listeningPath: nil, hasAbstractManager: false)
      _ = try Sandbox(start: .gateway).lock(.gateway(places), isRequired: false)
    case .coordinator:
      _ = try Sandbox(start: .coordinator)
        .lock(.coordinator(writablePaths: [scene.dataDirectory]), isRequired: false)
    }
  }

  static let streams: Set<Int32> = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
}
