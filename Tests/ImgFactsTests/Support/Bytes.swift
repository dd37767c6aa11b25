/// Numbers as bytes, the most significant first.
func big(_ value: Int, _ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
}

/// Numbers as bytes, the least significant first.
func little(_ value: Int, _ count: Int) -> [UInt8] { big(value, count).reversed() }

func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
