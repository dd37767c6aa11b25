import CMicroHTTPD

/// Reads the fields of a request.
struct RequestFields {
  private(set) var fields = HTTPFields()
  private let header: Range<UInt>
  private var layout: HeaderLayout

  /// - Parameters:
  ///   - connection: in a call of the access handler.
  ///   - header: where the header lies.
  ///   - layout: with the request line.
  init(from connection: ConnectionHandle, header: Range<UInt>, layout: HeaderLayout) {
    self.header = header
    self.layout = layout
    unsafe withUnsafeMutablePointer(to: &self) { fields in
      _ = unsafe MHD_get_connection_values_n(connection.pointer, .HEADER_KIND, onField, fields)
    }
  }

  /// Whether these are all bytes of a valid header.
  var isComplete: Bool { layout.isComplete(at: header.upperBound) }

  fileprivate mutating func append(_ name: RequestText, _ value: RequestText) {
    // The others are those of `MHD_skip_parsing`.
    guard header.contains(name.range.lowerBound) else { return }
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
