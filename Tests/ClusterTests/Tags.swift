import Testing

extension Tag {
  /// Waits for a limit of the product to pass: ten seconds and more.
  @Tag static var slow: Self
}
