import ImgModel

extension LeaseID: ExpressibleByIntegerLiteral {
  /// The lease of this number.
  public init(integerLiteral value: UInt64) {
    self.init(rawValue: value)
  }
}
