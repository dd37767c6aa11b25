/// What no file may exceed, whatever it declares.
enum FactsLimits {
  /// Of frames and pages whose headers are walked.
  static let maximumFrameCount = 65_536

  static let tooManyFrames = FactsError.unsupported("more than \(maximumFrameCount) frames")
}
