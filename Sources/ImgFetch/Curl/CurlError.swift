internal import CCurl

/// libcurl could not be set up: too little memory, or a build without a feature.
///
/// An error of one transfer is a `Failure`.
package struct CurlError: Error, Equatable, CustomStringConvertible {
  /// The C function or option that was refused, in C's spelling.
  package let operation: String
  /// libcurl's words.
  package let reason: String

  package var description: String { "\(operation): \(reason)" }
}

extension CurlError {
  init(operation: String, code: CURLcode) {
    self.init(operation: operation, reason: code.text)
  }

  init(operation: String, code: CURLMcode) {
    self.init(operation: operation, reason: unsafe String(cString: curl_multi_strerror(code)))
  }
}

extension CURLcode {
  /// libcurl's words for the code.
  var text: String { unsafe String(cString: curl_easy_strerror(self)) }
}
