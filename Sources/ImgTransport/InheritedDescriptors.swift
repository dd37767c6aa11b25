/// The descriptor numbers under which a worker finds what its coordinator passes on.
package enum WorkerDescriptor {
  /// The connection to the coordinator.
  package static let channel: CInt = 3
  /// The shared page, see ``WorkerBoard``.
  package static let board: CInt = 4
}

/// How a coordinator tells whoever started it in the background that it listens, or why it cannot:
/// one text on a connection it inherits, which it then closes.
package enum StartSignal {
  /// The descriptor of the connection.
  package static let descriptor: CInt = 3
  /// The environment variable that names the descriptor; without it nobody waits.
  package static let variable = "IMGCTL_START_DESCRIPTOR"
  /// What a coordinator that listens says; anything else is why it does not.
  package static let ready = "ready"
  /// How that begins when another coordinator owns the data directory or the socket.
  package static let taken = "another coordinator"
}
