/// How long the samples of a track are shown, in ticks of the track.
struct SampleTimes {
  private static let maximumRunCount = FactsLimits.maximumFrameCount

  /// In the order in which the samples are shown.
  private(set) var durations: [Int]

  /// - Parameters:
  ///   - decoding: the box `stts` (ISO/IEC 14496-12 section 8.6.1.2): how long after each sample the
  ///     next one is decoded.
  ///   - offsets: the box `ctts` (section 8.6.1.3): how much later than decoded each sample is shown.
  ///     `nil` if they are shown in the order in which they are decoded.
  init(decoding: ISOMediaBox, offsets: ISOMediaBox?) throws(FactsError) {
    durations = try Self.values(in: decoding, isSigned: false)
    guard let offsets, let last = durations.last else { return }
    let shifts = try Self.values(in: offsets, isSigned: offsets.version() == 1)
    guard shifts.count == durations.count else { return }
    var (time, starts) = (0, [Int]())
    for (duration, shift) in zip(durations, shifts) {
      starts.append(time + shift)
      time += duration
    }
    starts.sort()
    durations = zip(starts.dropFirst(), starts).map { $0 - $1 } + [last]
  }

  /// Runs of equal values.
  private static func values(in box: ISOMediaBox, isSigned: Bool) throws(FactsError) -> [Int] {
    let runCount = min(try box.content.fields(at: 0, count: 4).u32(0), maximumRunCount)
    let runs = try box.content.fields(at: 4, count: runCount * 8)
    var values: [Int] = []
    for run in 0..<runCount {
      let (count, value) = (runs.u32(run * 8), runs.u32(run * 8 + 4))
      guard values.count + count <= FactsLimits.maximumFrameCount else {
        throw FactsLimits.tooManyFrames
      }
      let signed = isSigned ? Int(Int32(truncatingIfNeeded: value)) : value
      values += Array(repeating: signed, count: count)
    }
    return values
  }
}
