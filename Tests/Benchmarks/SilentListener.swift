import Glibc
import ImgSystem

/// A port of every address of this machine that accepts connections and never answers: the
/// kernel takes them, and no program does.
struct SilentListener: ~Copyable {
  private let socket: OwnedDescriptor
  let port: UInt16

  init() throws {
    socket = OwnedDescriptor(
      adopting: Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    let descriptor = socket.rawValue
    let code = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard unsafe bind(descriptor, address, size) == 0, listen(descriptor, 4_096) == 0 else {
          return CInt(-1)
        }
        return unsafe getsockname(descriptor, address, &size)
      }
    }
    guard code == 0 else { throw BenchError("no port can be listened on: error \(errno)") }
    port = UInt16(bigEndian: address.sin_port)
  }
}
