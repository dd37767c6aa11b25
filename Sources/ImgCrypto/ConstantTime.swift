import CSodium

/// Comparisons whose time does not depend on the content.
package enum ConstantTime {
  /// Whether two secrets are equal. Different lengths are told apart at once.
  package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    Sodium.requireReady()
    guard left.count == right.count else { return false }
    return unsafe sodium_memcmp(left, right, left.count) == 0
  }
}
