internal import CCurl
internal import Glibc
internal import ImgSystem

/// The sockets that libcurl opened for one transfer, and what the address policy said of its host's
/// addresses.
struct ConnectionAttempt {
  /// Empty when the transfer was given a connection that was used before.
  private(set) var sockets: [CInt] = []
  /// The last address that was refused, with the reason.
  private var refusedAddress: String?
  private var hasPermittedAddress = false

  /// Whether the transfer has a connection that was used before.
  var isReused: Bool { sockets.isEmpty }

  /// Why no address of the host may be connected to; `nil` when one may, or none was tried.
  var blockedAddress: String? { hasPermittedAddress ? nil : refusedAddress }

  /// Opens a socket when the policy permits the address. libcurl connects it to this very address
  /// next, so an answer of the name servers that changes in between makes no difference.
  mutating func openSocket(
    to address: UnsafeMutablePointer<curl_sockaddr>, permittedBy policy: AddressPolicy
  ) -> curl_socket_t {
    var bytes = [UInt8](repeating: 0, count: 16)
    bytes.removeLast(bytes.count - Int(unsafe curl_sockaddr_address(address, &bytes)))
    if let reason = policy.reasonForRefusing(bytes) {
      refusedAddress =
        "\(IPAddress.text(bytes) ?? "the address") is refused: \(reason); "
        + "imgctl stop, then imgctl start --allow-network CIDR allows a network"
      return CURL_SOCKET_BAD
    }
    hasPermittedAddress = true
    let type = unsafe address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue)
    let socket = unsafe Glibc.socket(address.pointee.family, type, address.pointee.protocol)
    sockets.append(socket)
    return socket
  }
}
