import Dispatch
import FoundationEssentials
import ImgClient
import ImgDecode
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import Synchronization
import TestPictures

/// How many thumbnails a second.
extension Bench {
  /// The whole way of a picture beside the decoding alone, in pairs of changing order: whatever
  /// else the machine does meanwhile meets both.
  func measureThumbnails(into report: inout Report) throws {
    var (whole, bare): ([ClusterPass], [ClusterPass]) = ([], [])
    // So that the first round finds both programs and pictures in memory.
    _ = try pass(of: decoding)
    for round in 1...options.rounds {
      try note("thumbnails, round \(round) of \(options.rounds)")
      if round.isMultiple(of: 2) { bare.append(try pass(of: decoding)) }
      whole.append(try pass("round-\(round)", list: options.listPath))
      if !round.isMultiple(of: 2) { bare.append(try pass(of: decoding)) }
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
    add("processor, libvips alone", bare.map { each($0.processorTime.decoders) }, "ms each", alone)
    let shares = zip(whole, bare).map { $1.processorTime.cluster / $0.processorTime.cluster }
    add("ratio by processor time", shares, "", "the processor times, pair by pair")
  }

  /// The decoding alone, by one thread a core.
  ///
  /// - Parameter count: `nil` for each picture once.
  func pass(of decoding: BareDecoding, count: Int? = nil) throws -> ClusterPass {
    let before = try ProcessorTime.seconds(of: ThisProcess.processID)
    let duration = try decoding.run(threadCount: ThisProcess.coreCount, count: count)
    let after = try ProcessorTime.seconds(of: ThisProcess.processID)
    return ClusterPass(
      seconds: duration.inSeconds,
      processorTime: ProcessorTime(workers: 0, decoders: after - before, coordinator: 0, origin: 0),
      decoderPeakMiB: 0)
  }
}

/// What is in the store already.
extension Bench {
  private static let callCount = 5_000
  private static let hitCount = 20_000

  /// URLs without an origin.
  func hitURLs() throws -> [ImageURL] {
    try (1...options.scaled(Self.hitCount)).map { number in
      try ImageURL(parsing: "http://127.0.0.1:9/stored/\(number).jpg")
    }
  }

  /// Stores a thumbnail for each URL, as workers would.
  func fillStore(of cluster: Cluster, _ urls: [ImageURL]) throws {
    try note("storing \(urls.count) thumbnails")
    let store = try ThumbnailStore(
      directory: cluster.storeDirectory,
      access: .readWrite(budgetByteCount: Limits().storeBudgetByteCount))
    let rendered = try decoding.example()
    let now = WallTime.now
    let group = 256
    for start in stride(from: 0, to: urls.count, by: group) {
      let thumbnails = urls[start..<min(start + group, urls.count)].map { url in
        NewThumbnail(
          key: ContentKey(PictureName(url), variant: .standard), url: url.text,
          thumbnail: rendered.thumbnail,
          source: SourcePicture(
            format: rendered.source.format, width: rendered.source.width,
            height: rendered.source.height, byteCount: 100_000),
          retention: Retention(after: Limits().defaultExpiry),
          bytes: rendered.bytes)
      }
      try store.put(thumbnails, at: now)
    }
  }

  func measureHits(_ urls: [ImageURL], on cluster: Cluster, into report: inout Report) throws {
    let list = try imgctl.list(named: "hits", urls.map(\.text))
    var rate = Samples()
    for round in 1...options.rounds {
      try note("a list of hits, round \(round) of \(options.rounds)")
      rate.add(Double(urls.count) / (try cluster.run(["submit", "--wait", list]).inSeconds))
    }
    report.add(
      "hits of a list", rate, "/s", command: "imgctl submit --wait LIST (\(urls.count) URLs stored)"
    )
  }

  /// Calls of the client library, each on another stored URL.
  func measureCalls(_ urls: [ImageURL], on cluster: Cluster, into report: inout Report) throws {
    try note("calls of the client library")
    let client = try cluster.client()
    guard let reader = try StoreReader(directory: cluster.storeDirectory) else {
      throw BenchError("no store in \(cluster.storeDirectory)")
    }
    let request = RequestOptions(variant: .standard)
    var (asked, read) = (Samples(), Samples())
    for call in 0..<options.scaled(Self.callCount) {
      let url = urls[call % urls.count]
      asked.add(
        try Self.microseconds {
          guard
            case .done = try client.answer(.get(GetRequest(url: url.text, options: request)))
              .outcome
          else {
            throw BenchError("\(url.text) is not stored")
          }
        })
      read.add(
        try Self.microseconds {
          guard try reader.thumbnail(for: PictureName(url), variant: .standard) != nil else {
            throw BenchError("\(url.text) is not stored")
          }
        })
    }
    for (share, name) in [(0.5, "median"), (0.99, "99 %")] {
      let (askedShare, readShare) = (
        Samples([asked.quantile(share)]), Samples([read.quantile(share)])
      )
      let calls = "of \(asked.values.count) calls"
      report.add("hit by the socket, \(name)", askedShare, "µs", command: "Client.get, \(calls)")
      report.add(
        "hit from the map, \(name)", readShare, "µs", command: "StoreReader.thumbnail, \(calls)")
    }
  }

  static func microseconds(_ body: () throws -> Void) throws -> Double {
    let start = ContinuousClock.now
    try body()
    return start.duration(to: .now) / .microseconds(1)
  }
}

/// What a person waits for at the command line.
extension Bench {
  private static let processRuns = 50
  private static let submittedLineCount = 200_000

  func measureProcesses(_ url: ImageURL, on cluster: Cluster, into report: inout Report) throws {
    try note("processes")
    let place = ["--data-dir", cluster.dataDirectory]
    let commands: [(words: [String], shown: String)] = [
      (["--version"], "imgctl --version"),
      (["status"] + place, "imgctl status"),
      (["get", url.text, "--output", "-"] + place, "imgctl get URL (stored)"),
    ]
    for (words, shown) in commands {
      var (time, memory) = (Samples(), Samples())
      for _ in 0..<options.scaled(Self.processRuns) {
        time.add(try imgctl.run(words) / .milliseconds(1))
        memory.add(try imgctl.peakMemory(words) / Double(1 << 20))
      }
      report.add("\(words[0]), the process", time, "ms", command: shown)
      report.add("\(words[0]), its memory", memory, "MiB", command: "time \(shown)")
    }
  }

  /// Lines that fail without being fetched: what is measured is the way into the journal.
  func measureSubmission(to cluster: Cluster, into report: inout Report) throws {
    let lineCount = options.scaled(Self.submittedLineCount)
    let list = try imgctl.list(
      named: "lines", (1...lineCount).map { "ftp://bench.invalid/picture/\($0).jpg" })
    var rate = Samples()
    for round in 1...options.rounds {
      try note("\(lineCount) lines, round \(round) of \(options.rounds)")
      rate.add(Double(lineCount) / (try cluster.run(["submit", list]).inSeconds))
      try awaitJobs(of: cluster)
    }
    report.add("lines submitted", rate, "/s", command: "imgctl submit LIST (\(lineCount) lines)")
  }

  /// So that the end of one round is not measured in the next.
  private func awaitJobs(of cluster: Cluster) throws {
    let client = try cluster.client()
    for job in try client.answer(.jobs()).jobs where !job.hasEnded {
      _ = try client.watch(job.job, every: .seconds(1)) { _ in true }
    }
  }
}

/// One list of `imgctl submit --wait` on a cluster of its own, or its decoding alone.
struct ClusterPass {
  let seconds: Double
  let processorTime: ProcessorTime
  /// The most memory that one of its decoders had resident, in MiB.
  let decoderPeakMiB: Double
}

extension Bench {
  /// - Parameter name: of the data directory, which is removed.
  func pass(_ name: String, list: String) throws -> ClusterPass {
    let cluster = try start(name)
    defer { try? FileManager.default.removeItem(atPath: cluster.dataDirectory) }
    do {
      let before = try cluster.processorTime(originProcessID: options.originProcessID)
      let duration = try cluster.run(["submit", "--wait", list])
      let after = try cluster.processorTime(originProcessID: options.originProcessID)
      let decoders = try cluster.decoders()
      try cluster.stop()
      return ClusterPass(
        seconds: duration.inSeconds, processorTime: after - before,
        decoderPeakMiB: decoders.map(\.peakMiB).max() ?? 0)
    } catch {
      // The next cluster listens at the same socket.
      try? cluster.stop()
      throw error
    }
  }
}

/// The yardstick: the calls of libvips that a worker makes, on pictures in memory, in one process,
/// one thread a core; no network, no store, no other process.
struct BareDecoding {
  /// What is done with each picture.
  enum Work {
    /// All that a decoder does: decode, resize, encode.
    case thumbnails
    /// Nothing but all pixels of the first frame, as the format's library gives them.
    case pixels
  }

  private let thumbnailer: Thumbnailer
  private let reader: PictureReader
  private let runtime: VipsRuntime
  private let pictures: [[UInt8]]

  init(pictureDirectory: String) throws {
    runtime = try VipsRuntime.start()
    thumbnailer = Thumbnailer(runtime: runtime, limits: Limits())
    reader = PictureReader(runtime: runtime)
    let files = FileManager.default
    pictures = try files.subpathsOfDirectory(atPath: pictureDirectory).compactMap { name in
      files.contents(atPath: "\(pictureDirectory)/\(name)").map(Array.init)
    }
  }

  var pictureCount: Int { pictures.count }

  /// A thumbnail of the first picture, as the store would hold it.
  func example() throws(Failure) -> RenderedThumbnail {
    try thumbnailer.thumbnail(of: pictures[0], as: .standard)
  }

  /// Takes each picture in turn, `count` in all.
  ///
  /// - Parameter count: `nil` for each picture once.
  /// - Returns: how long that took.
  func run(
    threadCount: Int, _ work: Work = .thumbnails, count: Int? = nil
  ) throws(BenchError) -> Duration {
    let count = count ?? pictures.count
    let next = Atomic(0)
    let failureCount = Atomic(0)
    let start = ContinuousClock.now
    DispatchQueue.concurrentPerform(iterations: threadCount) { _ in
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < count else { break }
        do {
          try perform(work, on: pictures[index % pictures.count])
        } catch {
          failureCount.add(1, ordering: .relaxed)
        }
      }
      runtime.shutdownThread()
    }
    let duration = start.duration(to: .now)
    let failed = failureCount.load(ordering: .relaxed)
    guard failed == 0 else { throw BenchError("\(failed) pictures could not be decoded") }
    return duration
  }

  private func perform(_ work: Work, on picture: [UInt8]) throws {
    switch work {
    case .thumbnails: _ = try thumbnailer.thumbnail(of: picture, as: .standard)
    case .pixels: try reader.decode(picture)
    }
  }
}
