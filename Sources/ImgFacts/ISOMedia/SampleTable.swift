/// Where the samples of a track lie in the file (ISO/IEC 14496-12 sections 8.7.3 to 8.7.5).
struct SampleTable {
  /// In the order in which they are decoded.
  private(set) var samples: [Range<Int>] = []

  init(of track: ISOMediaTrack) throws(FactsError) {
    guard let sizes = try Self.sizes(of: track), let offsets = try Self.chunkOffsets(of: track),
      let chunks = try track.table("stsc")
    else { throw .invalid("a track does not say where its samples are") }
    let runs = try Self.runs(in: chunks)
    var (sample, run) = (0, 0)
    for (index, offset) in offsets.enumerated() {
      while run + 1 < runs.count, runs[run + 1].firstChunk <= index + 1 { run += 1 }
      guard run < runs.count else { break }
      var start = offset
      // A chunk may declare more samples than the track has.
      for _ in 0..<min(runs[run].sampleCount, sizes.count - sample) {
        guard start <= ByteWindow.maximumFileByteCount else {
          throw .invalid("a sample lies behind the end of the file")
        }
        samples.append(start..<start + sizes[sample])
        start += sizes[sample]
        sample += 1
      }
      if sample == sizes.count { return }
    }
    guard sample == sizes.count else {
      throw .invalid("\(sample) of \(sizes.count) samples have a place in the file")
    }
  }

  private static func checked(_ count: Int) throws(FactsError) -> Int {
    guard count <= FactsLimits.maximumFrameCount else { throw FactsLimits.tooManyFrames }
    return count
  }

  /// - Returns: `nil` if there are none.
  private static func sizes(of track: ISOMediaTrack) throws(FactsError) -> [Int]? {
    guard try track.table("stz2") == nil else {
      throw .unsupported("a sequence with compact sample sizes")
    }
    guard let box = try track.table("stsz") else { return nil }
    let head = try box.content.fields(at: 0, count: 8)
    let count = try checked(head.u32(4))
    guard head.u32(0) == 0 else { return Array(repeating: head.u32(0), count: count) }
    let fields = try box.content.fields(at: 8, count: count * 4)
    return (0..<count).map { fields.u32($0 * 4) }
  }

  private static func chunkOffsets(of track: ISOMediaTrack) throws(FactsError) -> [Int]? {
    let long = try track.table("co64")
    let short = try track.table("stco")
    guard let box = long ?? short else { return nil }
    let size = long == nil ? 4 : 8
    let count = try checked(box.content.fields(at: 0, count: 4).u32(0))
    let fields = try box.content.fields(at: 4, count: count * size)
    return (0..<count).map { fields.unsigned($0 * size, count: size) }
  }

  /// Chunks that follow each other and have equally many samples.
  private struct Run {
    /// Counted from 1.
    let firstChunk: Int
    let sampleCount: Int
  }

  private static func runs(in box: ISOMediaBox) throws(FactsError) -> [Run] {
    let count = try checked(box.content.fields(at: 0, count: 4).u32(0))
    let fields = try box.content.fields(at: 4, count: count * 12)
    // Counted from 1. The other numbers of the track are those of the first description.
    guard (0..<count).allSatisfy({ fields.u32($0 * 12 + 8) <= 1 }) else {
      throw .unsupported("a sequence with several sample descriptions")
    }
    return (0..<count).map {
      Run(firstChunk: fields.u32($0 * 12), sampleCount: fields.u32($0 * 12 + 4))
    }
  }
}
