/// A response as it was sent.
package struct RawResponse: Sendable {
  package let status: Int
  package let fields: [(name: String, value: String)]
  package var body: [UInt8] = []

  /// - Parameter head: the status line and the fields, with the empty line.
  package init(head: String) throws {
    let lines = head.split(separator: "\r\n", omittingEmptySubsequences: true)
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw RawClient.Failure.invalidResponse(head)
    }
    self.status = status
    fields = lines.dropFirst().map { line in
      let name = line.prefix { $0 != ":" }
      return (String(name), String(line.dropFirst(name.count + 1).drop { $0 == " " }))
    }
  }

  /// The value of the first field of a name.
  package subscript(name: String) -> String? {
    fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  package var text: String { String(decoding: body, as: UTF8.self) }
}
