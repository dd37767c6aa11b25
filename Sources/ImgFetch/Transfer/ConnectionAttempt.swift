internal import CCurl
internal import Glibc
internal import ImgSystem

/// The sockets that libcurl opened for one transfer, and what the address policy said of its host's
/// addresses.
struct ConnectionAttempt {
  /// Empty when the transfer was given a connection that was used before.
  private(set) var sockets: [CInt] = []
  /// The last address that was refused, with the reason.
  private(set) var refusedAddress: String?
  private var hasPermittedAddress = false

  /// Whether the transfer has a connection that was used before.
  var isReused: Bool { sockets.isEmpty }

  /// Why no address of the host may be connected to; `nil` when one may, or none was tried.
  var blockedAddress: String? { hasPermittedAddress ? nil : refusedAddress }

  /// Whether the policy permits an address.
  @discardableResult
  mutating func check(
    _ address: UnsafeMutablePointer<curl_sockaddr>, by policy: AddressPolicy
  ) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16)
    bytes.removeLast(bytes.count - Int(unsafe curl_sockaddr_address(address, &bytes)))
    guard let reason = policy.reasonForRefusing(bytes) else {
      hasPermittedAddress = true
      return true
    }
    refusedAddress =
      "\(IPAddress.text(bytes) ?? "the address") is refused: \(reason); "
      + "imgctl stop, then imgctl start --allow-network CIDR allows a network"
    return false
  }

  /// Opens a socket. libcurl connects it to this very address next, so an answer of the name servers
  /// that changes after ``check(_:by:)`` makes no difference.
  mutating func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    let type = unsafe address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue)
    let socket = unsafe Glibc.socket(address.pointee.family, type, address.pointee.protocol)
    sockets.append(socket)
    return socket
  }
}
