@_spi(Coding) package import ImgModel

/// What a command asks a worker program for that it starts to fetch a list of URLs. It goes to the
/// program's standard input, as JSON.
package struct ListRequest: Hashable, Sendable, Fielded {
  /// The argument that makes `imgworker` fetch a list.
  package static let argument = "fetch-list"
  /// The longest JSON of a request.
  package static let maximumByteCount = 1 << 20

  package let url: String
  /// What a coordinator with the same settings sends its workers. The store is not used.
  package let welcome: Welcome

  package init(url: String, welcome: Welcome) {
    self.url = url
    self.welcome = welcome
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    url = try f.field("url", value?.url)
    welcome = try f.field("welcome", value?.welcome)
  }
}

/// What becomes of a list. It comes out of ``descriptor``, as JSON, before the list comes out of standard
/// output.
package enum ListAnswer: Hashable, Sendable {
  /// So many bytes follow. A list that breaks off ends with fewer.
  case found(byteCount: Int)
  case failed(Failure)

  /// The descriptor of the worker program that the answer is written to.
  package static let descriptor: CInt = 3
  /// The longest JSON of an answer.
  package static let maximumByteCount = 1 << 20
}

extension ListAnswer: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    var (byteCount, failure): (Int?, Failure?)
    switch value {
    case .found(let count): byteCount = count
    case .failed(let reason): failure = reason
    case nil: break
    }
    byteCount = try f.optional("byte_count", byteCount)
    failure = try f.optional("failure", failure)
    switch (byteCount, failure) {
    case (let byteCount?, nil): self = .found(byteCount: byteCount)
    case (nil, let failure?): self = .failed(failure)
    default: throw f.invalid("neither a list nor a failure")
    }
  }
}
