/// Names an explicit command of a person that may override a circuit breaker; a later one has a
/// higher number.
package struct CommandID: Hashable, Comparable {
  package let rawValue: UInt64

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
