/// Where the rows of a bitmap lie in a file. Each begins at a multiple of four bytes, counted from the
/// first one.
struct BitmapRows {
  /// Where all rows end, if they are there.
  let end: Int
  /// Rows that are whole in the file.
  let presentCount: Int
  private let start: Int
  /// Without the padding, which the last row may lack.
  private let byteCount: Int
  private let stride: Int

  /// - Parameters:
  ///   - start: of the first row. There may be no such byte in the file.
  ///   - height: rows that there should be.
  init(at start: Int, width: Int, bitCount: Int, height: Int, inFileOf fileByteCount: Int) {
    self.start = start
    byteCount = (width * bitCount + 7) / 8
    stride = (width * bitCount + 31) / 32 * 4
    end = start + height * stride
    let rest = fileByteCount - start
    presentCount = rest < byteCount ? 0 : min(height, (rest - byteCount) / stride + 1)
  }

  /// Where the bytes of a row lie.
  subscript(index: Int) -> Range<Int> {
    start + index * stride..<start + index * stride + byteCount
  }
}
