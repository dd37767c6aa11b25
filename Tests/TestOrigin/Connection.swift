import CMicroHTTPD
import Glibc

/// A client's connection, valid during the callbacks of its own thread.
@safe struct Connection {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    unsafe self.handle = unsafe handle
  }

  var descriptor: CInt {
    unsafe MHD_get_connection_fd(handle)
  }

  /// The request's header fields under their lowercased names.
  var headers: [String: String] {
    var fields: [String: String] = [:]
    unsafe withUnsafeMutablePointer(to: &fields) { fields in
      _ = unsafe MHD_get_connection_values(
        handle, .HEADER_KIND,
        { context, _, name, value in
          if let fields = unsafe context?.assumingMemoryBound(to: [String: String].self),
            let name = unsafe name
          {
            let key = unsafe String(cString: name).lowercased()
            unsafe fields.pointee[key] = unsafe value.map { unsafe String(cString: $0) } ?? ""
          }
          return .YES
        }, fields)
    }
    return fields
  }

  /// Sends a TCP RST at once: connecting a socket to no address dissolves its connection.
  func reset() {
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    // Fails only when the client was faster, and then there is nothing left to reset.
    _ = unsafe connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
  }

  /// Starts an answer; its body comes from the reader as the connection takes it.
  ///
  /// - Returns: False when libmicrohttpd refused the answer.
  func start(_ response: Response, reader: BodyReader) -> Bool {
    let byteCount = response.delivery.knownLength(of: response.body.count)
    let blockByteCount = 65_536
    guard
      let answer = unsafe MHD_create_response_from_callback(
        byteCount.map(UInt64.init) ?? MHD_BODY_SIZE_UNKNOWN, blockByteCount,
        { context, position, buffer, room in
          guard let context = unsafe context, let buffer = unsafe buffer else {
            return MHD_READER_END_WITH_ERROR
          }
          let reader = unsafe Unmanaged<BodyReader>.fromOpaque(context).takeUnretainedValue()
          return unsafe buffer.withMemoryRebound(to: UInt8.self, capacity: room) { bytes in
            unsafe reader.read(
              at: Int(position),
              into: UnsafeMutableBufferPointer(start: bytes, count: room))
          }
        },
        Unmanaged.passRetained(reader).toOpaque(),
        { context in
          if let context = unsafe context {
            unsafe Unmanaged<BodyReader>.fromOpaque(context).release()
          }
        })
    else { return false }
    defer { unsafe MHD_destroy_response(answer) }
    var headers = response.headers
    if case .wrongLength(let declared) = response.delivery {
      unsafe MHD_allow_own_content_length(answer)
      headers.append(Header("Content-Length", String(declared)))
    }
    for header in headers {
      guard unsafe MHD_add_response_header(answer, header.name, header.value) == .YES else {
        return false
      }
    }
    return unsafe MHD_queue_response(handle, CUnsignedInt(response.status), answer) == .YES
  }
}
