/// How a coordinator tells the process that started it in the background that it listens, or why it
/// cannot: one text on a connection that it inherits and then closes.
package enum ReadinessMessage {
  /// The descriptor of the connection.
  package static let descriptor: CInt = 3
  /// The environment variable that names the descriptor. Without it no process waits.
  package static let variable = "IMGCTL_READY_DESCRIPTOR"
  /// The text of a coordinator that listens. Any other text is the reason why it does not.
  package static let ready = "ready"
  /// How the reason begins when another coordinator owns the data directory or the socket.
  package static let taken = "another coordinator"
}

/// The descriptor numbers under which a worker finds what its coordinator passes on.
package enum WorkerDescriptor {
  /// The connection to the coordinator.
  package static let channel: CInt = 3
  /// The shared page, see ``WorkerHeartbeat``.
  package static let heartbeat: CInt = 4
}

/// The descriptor number under which a decoder finds what its coordinator passes on.
package enum DecoderDescriptor {
  /// The connection to its worker.
  package static let channel: CInt = 3
}
