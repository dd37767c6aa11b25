import Glibc
import ImgSystem

/// A socket that takes datagrams, as a service manager's does.
package final class DatagramReceiver {
  private let socket: OwnedDescriptor

  /// - Parameter address: a path, or `@` and an abstract name (sd_notify(3)).
  package init(address name: String) throws {
    socket = OwnedDescriptor(
      adopting: Glibc.socket(
        AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    let byteCount = MemoryLayout<sa_family_t>.size + bytes.count
    if name.hasPrefix("@") { bytes[0] = 0 }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let descriptor = socket.rawValue
    let result = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, socklen_t(byteCount))
      }
    }
    guard result == 0 else { throw ClusterError("\(name) cannot be bound") }
  }

  /// The next datagram; `nil` when none has come before the deadline.
  package func next(
    until deadline: ContinuousClock.Instant = .now + ProgramRun.patience
  ) throws -> String? {
    guard try UnixSocket.waitReadable(socket.rawValue, until: deadline) else { return nil }
    var bytes: [UInt8] = []
    _ = try UnixSocket.receive(socket.rawValue, into: &bytes, upTo: 4_096)
    return String(decoding: bytes, as: UTF8.self)
  }
}
