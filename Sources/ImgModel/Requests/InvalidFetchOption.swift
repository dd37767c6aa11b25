/// The reason why a value of ``FetchOptions`` is invalid, for people.
package struct InvalidFetchOption: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}

extension Decoder {
  /// Makes a value from decoded input. Turns ``InvalidFetchOption`` into a `DecodingError`.
  func checked<Value>(_ make: () throws -> Value) throws -> Value {
    do {
      return try make()
    } catch let error as InvalidFetchOption {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: codingPath, debugDescription: error.description))
    }
  }
}
