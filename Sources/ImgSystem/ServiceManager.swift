import CLinux

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

/// Sends datagrams to the socket of a service manager.
package enum UnixDatagram {
  /// Sends one datagram. Does not block.
  ///
  /// - Parameter address: an absolute path, or `@` and an abstract name, as in NOTIFY_SOCKET
  ///   (sd_notify(3)).
  /// - Throws: EINVAL for any other address, ENAMETOOLONG for one that is too long (unix(7)).
  package static func send(_ text: String, to address: String) throws(SystemError) {
    let socket = OwnedDescriptor(adopting: try systemCall("socket") { img_datagram_socket() })
    let bytes = Array(text.utf8)
    _ = try pathCall("send a datagram to", address) {
      unsafe bytes.withUnsafeBytes {
        unsafe img_send_datagram(socket.rawValue, address, $0.baseAddress, $0.count)
      }
    }
  }
}
