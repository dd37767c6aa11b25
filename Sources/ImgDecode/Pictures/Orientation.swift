/// How stored pixels become upright (CIPA DC-008, "Orientation"): their sides are reversed, then rows
/// and columns change places.
struct Orientation {
  /// Whether the first column is the last one of the stored picture.
  let reversesColumns: Bool
  let reversesRows: Bool
  let isTransposed: Bool

  /// - Parameter value: 1…8 as in EXIF.
  init(_ value: Int) {
    reversesColumns = [2, 3, 7, 8].contains(value)
    reversesRows = [3, 4, 6, 7].contains(value)
    isTransposed = value > 4
  }
}
