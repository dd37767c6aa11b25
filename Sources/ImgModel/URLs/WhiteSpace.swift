extension BidirectionalCollection<UInt8> {
  /// The bytes without leading and trailing spaces and tabs.
  @inlinable
  package var withoutOuterWhiteSpace: SubSequence {
    let isWhiteSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let start = drop(while: isWhiteSpace)
    return start.lastIndex { !isWhiteSpace($0) }.map { start[...$0] } ?? start
  }
}
