import ImgModel
import ImgSettings
import Synchronization

/// The settings of the coordinator that a process was connected to last. They are those of the one that the
/// process starts in its place, so that a cluster permits the same networks and has the same limits after the
/// end of its coordinator.
final class LastCoordinator: Sendable {
  private struct Known {
    let processID: Int32
    let settings: Settings
  }

  private let known = Mutex<Known?>(nil)

  /// `nil` before the first connection.
  var settings: Settings? { known.withLock { $0?.settings } }

  /// Asks a coordinator for its settings, unless they are known.
  func remember(_ client: Client) {
    let processID = client.coordinatorProcessID
    guard known.withLock({ $0?.processID != processID }) else { return }
    // If the connection is lost, the next request of the client finds that out.
    guard let status = try? client.status(),
      let settings = try? Settings(runningAs: status)
    else { return }
    known.withLock { $0 = Known(processID: processID, settings: settings) }
  }
}
