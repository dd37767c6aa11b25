/// What a body counts against the budgets of its pool until it is given back: bytes of memory, or
/// bytes of a file.
package struct BodyCharge: Hashable, Sendable {
  package let byteCount: Int
  package let isOfFile: Bool

  package init(byteCount: Int, isOfFile: Bool = false) {
    self.byteCount = byteCount
    self.isOfFile = isOfFile
  }
}
