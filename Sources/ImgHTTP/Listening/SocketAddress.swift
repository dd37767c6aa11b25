import Glibc
import ImgSystem

/// The address of an internet socket, as bind(2), accept(2) and getsockname(2) have it.
struct SocketAddress {
  private(set) var storage = sockaddr_storage()
  private(set) var size = socklen_t(MemoryLayout<sockaddr_storage>.size)

  /// Lets a call fill in the address.
  init<E: Error>(
    filledIn call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) throws(E) ->
      Void
  ) throws(E) {
    try unsafe withUnsafeMutablePointer(to: &storage) { storage throws(E) in
      try unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(E) in
        try unsafe call(address, &size)
      }
    }
  }

  /// - Parameter ip: 4 or 16 bytes in network order.
  init(ip: [UInt8], port: UInt16) {
    if ip.count == 4 {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: ip) }
      unsafe withUnsafeMutableBytes(of: &storage) { storage in
        unsafe withUnsafeBytes(of: &address) { unsafe storage.copyMemory(from: $0) }
      }
      size = socklen_t(MemoryLayout<sockaddr_in>.size)
    } else {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: ip) }
      unsafe withUnsafeMutableBytes(of: &storage) { storage in
        unsafe withUnsafeBytes(of: &address) { unsafe storage.copyMemory(from: $0) }
      }
      size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    }
  }

  /// AF_INET, AF_INET6 or AF_UNIX.
  var family: CInt { CInt(storage.ss_family) }

  /// The port; 0 for a Unix socket.
  var port: UInt16 {
    var storage = storage
    return unsafe withUnsafeBytes(of: &storage) { bytes in
      switch family {
      case AF_INET: UInt16(bigEndian: unsafe bytes.load(as: sockaddr_in.self).sin_port)
      case AF_INET6: UInt16(bigEndian: unsafe bytes.load(as: sockaddr_in6.self).sin6_port)
      default: 0
      }
    }
  }

  /// The IP address, 4 or 16 bytes in network order; empty for a Unix socket.
  var ip: [UInt8] {
    var storage = storage
    return unsafe withUnsafeBytes(of: &storage) { bytes in
      switch family {
      case AF_INET:
        unsafe withUnsafeBytes(of: bytes.load(as: sockaddr_in.self).sin_addr) { unsafe Array($0) }
      case AF_INET6:
        unsafe withUnsafeBytes(of: bytes.load(as: sockaddr_in6.self).sin6_addr) { unsafe Array($0) }
      default: []
      }
    }
  }

  /// The path of a Unix socket; empty for one without a file.
  var path: String {
    guard family == AF_UNIX, size > socklen_t(MemoryLayout<sa_family_t>.size) else { return "" }
    var storage = storage
    return unsafe withUnsafeBytes(of: &storage) { bytes in
      let path = unsafe bytes[MemoryLayout<sa_family_t>.size..<Int(size)]
      return unsafe String(decoding: path.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Makes a call with the address.
  func withPointer<Result>(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var storage = storage
    return unsafe withUnsafePointer(to: &storage) { storage in
      unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call($0, size) }
    }
  }
}
