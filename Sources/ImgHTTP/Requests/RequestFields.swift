import CMicroHTTPD

/// Reads the fields of a request.
struct RequestFields {
  private(set) var fields = HTTPFields()
  private var layout: HeaderLayout

  /// - Parameters:
  ///   - connection: in a call of the access handler.
  ///   - layout: with the request line.
  init(from connection: ConnectionHandle, layout: HeaderLayout) {
    self.layout = layout
    unsafe withUnsafeMutablePointer(to: &self) { fields in
      _ = unsafe MHD_get_connection_values_n(connection.pointer, .HEADER_KIND, onField, fields)
    }
  }

  /// Whether these are all bytes of a valid header.
  ///
  /// - Parameter end: where the header ends.
  func isComplete(at end: UInt) -> Bool {
    layout.isComplete(at: end)
  }

  fileprivate mutating func append(_ name: RequestText, _ value: RequestText) {
    layout.takeField(name: name.range, value: value.range)
    fields.add(name.string, value.withoutTrailingWhitespace.string)
  }
}

private let onField: MHD_KeyValueIteratorN = { context, _, name, nameCount, value, valueCount in
  guard let fields = unsafe context?.assumingMemoryBound(to: RequestFields.self),
    let name = unsafe name, let value = unsafe value
  else { return .NO }
  unsafe fields.pointee.append(
    RequestText(name, count: nameCount), RequestText(value, count: valueCount))
  return .YES
}
