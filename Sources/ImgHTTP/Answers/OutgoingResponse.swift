import CMicroHTTPD

/// A response as libmicrohttpd takes it.
///
/// Sendable is unchecked because of the pointer. Once its fields are added, the response does not change, and
/// libmicrohttpd counts who uses it under a lock, so any threads can queue it.
@safe
struct OutgoingResponse: ~Copyable, @unchecked Sendable {
  private let handle: OpaquePointer

  /// The block in which libmicrohttpd asks for the bytes of a stream.
  private static let streamBlockByteCount = 16 << 10

  /// Without memory, it fails.
  init?(_ source: Source) {
    guard let handle = unsafe Self.make(source) else { return nil }
    unsafe self.handle = unsafe handle
  }

  deinit {
    // libmicrohttpd keeps it for as long as it needs it.
    unsafe MHD_destroy_response(handle)
  }

  /// - Parameter isLast: whether the connection closes after the response.
  /// - Returns: `false` if a field is not valid, such as one with a line break in its value, which would
  ///   begin another field.
  func add(_ fields: HTTPFields, isLast: Bool) -> Bool {
    for field in fields.fields {
      guard Self.isValid(field), add(field.name, field.value) else { return false }
    }
    return !isLast || add("Connection", "close")
  }

  func queue(status: HTTPStatus, on connection: OpaquePointer) -> MHD_Result {
    unsafe MHD_queue_response(connection, UInt32(status.rawValue), handle)
  }

  /// Where the bytes of a body come from.
  enum Source {
    case none
    case bytes(HTTPBody)
    case stream(StreamSource)
    /// A stream that is not sent, because the request is HEAD. The connection must close after the response.
    case omittedStream
  }

  private static func make(_ source: Source) -> OpaquePointer? {
    switch source {
    case .none:
      unsafe MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
    case .bytes(let body):
      unsafe MHD_create_response_from_buffer_with_free_callback_cls(
        body.count, UnsafeMutableRawPointer(mutating: body.memory.baseAddress), releaseBody,
        Unmanaged.passRetained(body).toOpaque())
    case .stream(let source):
      unsafe MHD_create_response_from_callback(
        MHD_BODY_SIZE_UNKNOWN, streamBlockByteCount, readStream,
        Unmanaged.passRetained(source).toOpaque(), releaseStream)
    case .omittedStream:
      unsafe makeWithoutLength()
    }
  }

  /// Without the HTTP/1.0 option, libmicrohttpd would send the end of the chunked coding.
  private static func makeWithoutLength() -> OpaquePointer? {
    guard
      let handle = unsafe MHD_create_response_from_callback(
        MHD_BODY_SIZE_UNKNOWN, 1, { _, _, _, _ in MHD_READER_END_OF_STREAM }, nil, nil)
    else { return nil }
    guard unsafe MHD_allow_own_content_length(handle) == .YES else {
      unsafe MHD_destroy_response(handle)
      return nil
    }
    return unsafe handle
  }

  /// An argument that is a `String` would be copied first.
  private func add(_ name: String, _ value: String) -> Bool {
    unsafe name.withCString { name in
      unsafe value.withCString { value in
        unsafe MHD_add_response_header(handle, name, value) == .YES
      }
    }
  }

  private static func isValid(_ field: HTTPFields.Field) -> Bool {
    !field.name.isEmpty && field.name.utf8.allSatisfy(\.isTokenCharacter)
      && field.value.utf8.allSatisfy(\.isFieldCharacter)
  }
}

private let releaseBody: MHD_ContentReaderFreeCallback = { context in
  guard let context = unsafe context else { return }
  unsafe Unmanaged<HTTPBody>.fromOpaque(context).release()
}

private let releaseStream: MHD_ContentReaderFreeCallback = { context in
  guard let context = unsafe context else { return }
  unsafe Unmanaged<StreamSource>.fromOpaque(context).release()
}

private let readStream: MHD_ContentReaderCallback = { context, _, buffer, byteCount in
  guard let context = unsafe context else { return MHD_READER_END_WITH_ERROR }
  let source = unsafe Unmanaged<StreamSource>.fromOpaque(context).takeUnretainedValue()
  let portion = unsafe source.read(
    into: UnsafeMutableRawBufferPointer(start: buffer, count: byteCount))
  return switch portion {
  case .bytes(let count): count
  case .wait: 0
  case .end: MHD_READER_END_OF_STREAM
  case .failure: MHD_READER_END_WITH_ERROR
  }
}
