import ImgModel

extension LeaseID: ExpressibleByIntegerLiteral {
  /// The lease of this number.
  public init(integerLiteral value: UInt64) {
    self.init(rawValue: value)
  }
}

extension TransferID: ExpressibleByIntegerLiteral {
  /// The transfer of this number.
  public init(integerLiteral value: UInt64) {
    self.init(rawValue: value)
  }
}
