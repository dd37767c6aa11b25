extension BidirectionalCollection<UInt8> {
  /// Without the spaces and tabs at its ends.
  package var withoutOuterWhiteSpace: SubSequence {
    let start = drop(while: Self.isWhiteSpace)
    return start.lastIndex { !Self.isWhiteSpace($0) }.map { start[...$0] } ?? start
  }

  private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
