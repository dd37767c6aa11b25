/// The service manager that runs this process, if one does. It receives the datagrams of a unit of
/// `Type=notify` (sd_notify(3)).
package struct ServiceManager {
  /// The environment variable that names the manager's socket.
  package static let variable = "NOTIFY_SOCKET"

  /// What the manager acts on.
  package enum State: String {
    /// Clients can connect.
    case ready = "READY=1"
    /// What runs is finished, then the process ends.
    case stopping = "STOPPING=1"
  }

  /// `nil` where no manager waits.
  private let address: String?

  package init(environment: [String: String]) {
    address = environment[Self.variable].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether it listens at an abstract socket (unix(7)).
  package var isAbstract: Bool { address?.hasPrefix("@") == true }

  /// - Parameter status: a line for people, which `systemctl status` shows.
  package func notify(_ state: State, status: String) {
    guard let address else { return }
    // A manager that misses the message ends the service after its own timeout, and logs that.
    try? UnixDatagram.send("\(state.rawValue)\nSTATUS=\(status)", to: address)
  }
}
