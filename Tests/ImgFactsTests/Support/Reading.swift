import Testing

@testable import ImgFacts

/// The facts of a whole file.
func facts(of file: [UInt8], _ extent: FactsExtent = .all) throws -> PictureFacts {
  try PictureFacts.reading(WholeBytes(file), extent)
}

/// The error that a whole file gives.
func error(of file: [UInt8], _ extent: FactsExtent = .all) -> FactsError? {
  do throws(FactsError) {
    _ = try PictureFacts.reading(WholeBytes(file), extent)
    return nil
  } catch {
    return error
  }
}

/// Answers a query from a file, as an origin that sends ranges does.
struct Fetch {
  let result: FactsQuery.Step
  let ranges: [Range<Int>]
  var byteCount: Int { ranges.reduce(0) { $0 + $1.count } }

  /// - Parameter isLengthKnown: whether the length of the file is known before the first range.
  init(_ file: [UInt8], _ extent: FactsExtent, isLengthKnown: Bool = true) {
    var query = FactsQuery(extent, byteCount: isLengthKnown ? file.count : nil)
    var ranges: [Range<Int>] = []
    while true {
      let step = query.next()
      guard case .fetch(let range) = step else {
        (result, self.ranges) = (step, ranges)
        return
      }
      let found = range.clamped(to: 0..<file.count)
      ranges.append(found)
      query.insert(Array(file[found]), at: found.lowerBound)
      query.setByteCount(file.count)
    }
  }

  /// What is reported of a file that is at hand.
  static func record(_ file: [UInt8], _ extent: FactsExtent) throws -> FactsRecord {
    try FactsQuery.record(extent, byteCount: file.count) { range in
      Array(file[range.clamped(to: 0..<file.count)])
    }
  }

  var facts: PictureFacts? {
    guard case .facts(let facts, _) = result else { return nil }
    return facts
  }
}
