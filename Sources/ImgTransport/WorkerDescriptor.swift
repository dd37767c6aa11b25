/// The descriptor numbers under which a worker finds what its coordinator passes on.
package enum WorkerDescriptor {
  /// The connection to the coordinator.
  package static let channel: CInt = 3
  /// The shared page, see ``WorkerHeartbeat``.
  package static let heartbeat: CInt = 4
}
