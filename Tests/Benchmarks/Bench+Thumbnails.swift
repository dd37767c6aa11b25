import ImgSystem

/// How many thumbnails a second.
extension Bench {
  /// The whole way of a picture beside the decoding alone, in pairs of changing order: whatever
  /// else the machine does meanwhile meets both.
  func measureThumbnails(into report: inout Report) throws {
    var (whole, bare): ([ClusterPass], [ClusterPass]) = ([], [])
    // So that the first round finds both programs and pictures in memory.
    _ = try makeBare()
    for round in 1...options.rounds {
      try note("thumbnails, round \(round) of \(options.rounds)")
      if round.isMultiple(of: 2) { bare.append(try makeBare()) }
      whole.append(try pass("round-\(round)", list: options.listPath))
      if !round.isMultiple(of: 2) { bare.append(try makeBare()) }
    }
    let count = Double(decoding.pictureCount)
    let submit = "imgctl submit --wait LIST (\(decoding.pictureCount) URLs, new store)"
    let alone = "the same calls in one process, \(ThisProcess.coreCount) threads, from memory"
    let pairs = "the two above, pair by pair"
    func add(_ name: String, _ values: [Double], _ unit: String, _ command: String) {
      report.add(name, Samples(values), unit, command: command)
    }
    add("thumbnails, whole way", whole.map { count / $0.seconds }, "/s", submit)
    add("thumbnails, libvips alone", bare.map { count / $0.seconds }, "/s", alone)
    add("ratio", zip(whole, bare).map { $1.seconds / $0.seconds }, "", pairs)

    func each(_ seconds: Double) -> Double { seconds / count * 1_000 }
    func add(_ part: String, _ time: (ProcessorTime) -> Double) {
      add("processor, \(part)", whole.map { each(time($0.processorTime)) }, "ms each", submit)
    }
    add("workers", \.workers)
    add("decoders", \.decoders)
    add("coordinator", \.coordinator)
    add("origin", \.origin)
    add(
      "processor, libvips alone", bare.map { each($0.processorTime.decoders) }, "ms each", alone)
    let shares = zip(whole, bare).map { whole, bare in
      let time = whole.processorTime
      return bare.processorTime.decoders / (time.workers + time.decoders + time.coordinator)
    }
    add("ratio by processor time", shares, "", "the processor times, pair by pair")
  }

  private func makeBare() throws -> ClusterPass {
    let before = try ProcessorTime.seconds(of: ThisProcess.processID)
    let duration = try decoding.run(threadCount: ThisProcess.coreCount)
    let after = try ProcessorTime.seconds(of: ThisProcess.processID)
    return ClusterPass(
      seconds: duration.inSeconds,
      processorTime: ProcessorTime(
        workers: 0, decoders: after - before, coordinator: 0, origin: 0),
      decoderPeakMiB: 0)
  }
}
