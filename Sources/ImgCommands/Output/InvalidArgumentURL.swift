import ImgModel

/// A URL on the command line that is not valid. Names the URL, because a command may take several.
struct InvalidArgumentURL: Error, CustomStringConvertible {
  let url: String
  let failure: Failure

  var description: String { "\(HumanText.source(url)): \(failure)" }
}

extension ImageURL {
  /// Reads an argument of a command.
  init(argument text: String) throws(InvalidArgumentURL) {
    do throws(Failure) {
      try self.init(line: text)
    } catch {
      throw InvalidArgumentURL(url: text, failure: error)
    }
  }
}
