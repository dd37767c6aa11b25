/// A value of the library that may be out of range until it is checked.
package protocol Checkable: Hashable, Sendable {
  associatedtype Defect: Error

  /// The value in its normal form: values with the same meaning are equal in it.
  ///
  /// - Throws: what is out of range.
  func checked() throws(Defect) -> Self
}

/// A value that is in range and in its normal form. What takes one need not check it again.
@dynamicMemberLookup
package struct Checked<Value: Checkable>: Hashable, Sendable {
  package let value: Value

  package init(_ value: Value) throws(Value.Defect) {
    self.value = try value.checked()
  }

  /// - Parameter value: a value that ``Checkable/checked()`` returns as it is.
  init(unchecked value: Value) {
    self.value = value
  }

  package subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member {
    value[keyPath: member]
  }

  /// The value after a change.
  package func changed(_ change: (inout Value) -> Void) throws(Value.Defect) -> Self {
    var value = value
    change(&value)
    return try Self(value)
  }
}

extension Checked: WrappingValue, FieldValue, Codable where Value: FieldValue {
  package var coded: Value { value }

  package init(coded value: Value) throws { try self.init(value) }
}
