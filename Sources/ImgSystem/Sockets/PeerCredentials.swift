/// The process at the other end of a Unix socket, as the kernel reports it: the one that connected,
/// or that created the pair or the listener.
package struct PeerCredentials: Hashable, Sendable {
  package let processID: Int32
  package let userID: UInt32
  package let groupID: UInt32
}
