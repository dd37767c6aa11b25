/// Why something is not what a ``FetchOptions`` holds, in words for people.
package struct InvalidFetchOption: Error, Equatable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}

extension Decoder {
  /// Makes what has conditions of what was decoded; that they are not met is an error of decoding.
  func checked<Value>(_ make: () throws -> Value) throws -> Value {
    do {
      return try make()
    } catch let error as InvalidFetchOption {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: codingPath, debugDescription: error.description))
    }
  }
}
